"""The one place where the server touches runs: models, posteriors and features by photo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tagfill.api.run import Run
from tagfill.arrays import Floats
from tagfill.errors import TagfillError
from tagfill.explain.maps import Explanation, explain_images
from tagfill.models.bundle import Bundle
from tagfill.models.engines import Engine, bundle_engine, open_engine
from tagfill.serve.ledger import Columns
from tagfill.serve.library import Library, library_of
from tagfill.train.folder import RunFolder

KEPT = 64
"""Explanations of photos that are kept in memory."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Probabilities of a model for all photos of a library.

    Args:
        unwritten: [N, K] probability that the tag is there although nobody wrote it.
        written: [N, K] probability that it is there: of held-out photos by the model itself, of
            training photos by heads that have not seen them.
    """

    classes: tuple[str, ...]
    unwritten: Floats
    written: Floats


def spread_over(classes: Sequence[str], columns: Columns, values: Floats) -> Floats:
    """[N, K] numbers of some classes, aligned to the current tags; nan for others."""
    spread = np.full((len(values), len(columns.names)), np.nan)
    for source, name in enumerate(classes):
        target = columns.find(name)
        if target is not None:
            spread[:, target] = np.fmax(spread[:, target], values[:, source])
    return spread


@dataclass(eq=False)
class ServedModel:
    """A finished run, ready to serve; one thread at a time explains pictures.

    Args:
        exported: an ONNX or torch.export file of the model to answer requests with.
    """

    run: Run
    posterior: Posterior
    library: Library
    exported: Path | None = None
    _explained: dict[int, Explanation] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return self.run.path.resolve()

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def bundle(self) -> Bundle:
        return self.run.model

    @cached_property
    def engine(self) -> Engine:
        """The engine of requests: the exported file, or torch on the model's network."""
        if self.exported is None:
            return bundle_engine(self.bundle)
        engine = open_engine(self.exported)
        if engine.metadata.classes != self.bundle.classes:
            raise TagfillError("is not an export of this run's model", file=self.exported)
        return engine

    def explain(self, picture: Image.Image) -> Explanation:
        """Probabilities and heat maps of one picture."""
        return next(iter(explain_images(self.bundle, [picture])))

    def explanation(self, row: int, picture: Image.Image) -> Explanation:
        """The same for a photo of the library; the latest ones are kept."""
        if row not in self._explained:
            if len(self._explained) >= KEPT:
                self._explained.pop(next(iter(self._explained)))
            self._explained[row] = self.explain(picture)
        return self._explained[row]

    @cached_property
    def _training(self) -> tuple[list[int], Floats]:
        """Rows of the training photos, and their features scaled to length 1."""
        train = self.run.split("train")
        features = np.asarray(self.run.assembly.pooled_features(train), dtype=np.float64)
        rows = [self.library.table.row_of[image] for image in train.table.images]
        return rows, features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)

    def suspects(self) -> list[tuple[int, str, float]]:
        """Written tags that look wrong: row, tag, probability; the least likely first."""
        recovery = self.run.recovery
        doubted = recovery.suspects()
        places = zip(doubted.rows.tolist(), doubted.columns.tolist(), strict=True)
        row_of = self.library.table.row_of
        return [
            (row_of[recovery.table.images[row]], recovery.table.classes[column], float(chance))
            for (row, column), chance in zip(places, doubted.probability, strict=True)
            if recovery.table.images[row] in row_of
        ]

    def nearest(self, picture: Image.Image, count: int) -> list[tuple[int, float]]:
        """The training photos most similar to a picture: row and similarity in -1..1."""
        import torch

        with torch.no_grad():
            rows, features = self._training
            inputs = self.bundle.transform(picture)[None].to(self.run.device)
            pooled = self.bundle.network.backbone.pooled(inputs)[0]
        vector = pooled.double().cpu().numpy()
        alike = features @ (vector / max(float(np.linalg.norm(vector)), 1e-12))
        return [(rows[place], float(alike[place])) for place in np.argsort(-alike)[:count]]


def open_model(path: Path, library: Library) -> ServedModel:
    """Load a run's model and its probabilities for the photos of the library."""
    run = Run.open(path)
    return ServedModel(run, posterior_of(run, library), library)


def open_run(path: Path, exported: Path | None = None) -> tuple[Library, ServedModel]:
    """The photos of a run and its model."""
    run = Run.open(path)
    library = library_of(run.data, Path(run.config.data.labels))
    return library, ServedModel(run, posterior_of(run, library), library, exported)


def posterior_of(run: Run, library: Library) -> Posterior:
    """Probabilities of a run for the photos of the library, cached in its folder."""
    if set(run.classes).isdisjoint(library.table.classes):
        raise TagfillError("has none of the tags of these photos", file=run.path)
    recovery = run.recovery
    place = recovery.table.row_of
    if not place.keys() >= set(library.table.images):
        raise TagfillError("was trained on other photos", file=run.path)
    rows = [place[image] for image in library.table.images]
    there, written = (
        matrix[rows].astype(np.float64)
        for matrix in (recovery.evidence.unknown, recovery.evidence.known)
    )
    for name in set(run.data.splits) - {"train"}:
        held_out = run.split(name).table.images
        written[[library.table.row_of[image] for image in held_out]] = run.probabilities(name)
    return Posterior(run.classes, there, written)


def held_out_scores(path: Path, library: Library, split: str, columns: Columns) -> Floats:
    """[N, K] probabilities of a run's model for the library's photos of a split."""
    classes, place, chances = _scores_of(path, split, _changed(path))
    images = [library.table.images[row] for row in library.splits[split]]
    if not place.keys() >= set(images):
        raise TagfillError("was validated on other photos", file=path)
    return spread_over(classes, columns, chances[[place[image] for image in images]])


def _changed(path: Path) -> int:
    """When the model of a run was written."""
    model = RunFolder(path).model
    return model.stat().st_mtime_ns if model.is_dir() else 0


@lru_cache(maxsize=8)
def _scores_of(
    path: Path, split: str, _time: int
) -> tuple[tuple[str, ...], Mapping[str, int], Floats]:
    """Classes, rows by image, and probabilities of a run, kept for the next curve."""
    run = Run.open(path)
    return run.classes, run.split(split).table.row_of, run.probabilities(split)


def class_metrics(path: Path, split: str) -> list[dict[str, Any]]:
    """Every class of a run on held-out photos, at the thresholds of the run."""
    return _classes_of(path, split, _changed(path))


@lru_cache(maxsize=8)
def _classes_of(path: Path, split: str, _time: int) -> list[dict[str, Any]]:
    return list(Run.open(path).evaluate(split=split).as_dict()["per_class"])


def is_run(path: Path) -> bool:
    return RunFolder(path).config.is_file()


def run_summary(path: Path) -> dict[str, Any]:
    """Metrics, settings and training curve of a run, as JSON."""
    run = Run.open(path)
    finished = run.folder.is_finished
    return {
        "name": run.name,
        "finished": finished,
        "method": run.stage.method.name,
        "backbone": run.config.model.backbone,
        "head": run.config.model.head,
        "started": run.metadata.get("started"),
        "metrics": dict(run.metrics) if finished else None,
        "curve": [
            {name: event.get(name) for name in ("stage", "epoch", "epochs", "loss", "score")}
            for event in run.events
            if event["event"] == "epoch"
        ],
        "notes": [event["text"] for event in run.events if event["event"] == "note"],
    }
