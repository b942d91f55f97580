"""The one place where the server touches runs: models, posteriors and features by photo."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import Floats
from tagfill.explain.maps import Explanation, explain_images
from tagfill.files import atomic_open
from tagfill.models.bundle import Bundle
from tagfill.models.engines import Engine, bundle_engine
from tagfill.recover.recovery import recover
from tagfill.report.source import Source, read_run
from tagfill.serve.columns import Columns
from tagfill.serve.library import Library, open_library
from tagfill.train.folder import RunFolder

POSTERIOR = "posterior.npz"
KEPT = 64
"""Explanations of photos that are kept in memory."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """What a model says of all photos of a library.

    Args:
        unwritten: [N, K] probability that the tag is there although nobody wrote it.
        written: [N, K] probability that it is there, by a model that has not seen the photo.
    """

    unwritten: Floats
    written: Floats


@dataclass(eq=False)
class ServedModel:
    """A finished run, ready to answer.

    Args:
        path: the run folder.
        bundle: its model.
        posterior: what it says of the library's photos, over its own classes.
    """

    path: Path
    bundle: Bundle
    posterior: Posterior
    library: Library
    _explaining: threading.Lock = field(default_factory=threading.Lock)
    _explained: dict[int, Explanation] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What people call it."""
        return self.path.name

    @cached_property
    def engine(self) -> Engine:
        """What answers requests: torch on the model's network."""
        return bundle_engine(self.bundle)

    def over(self, columns: Columns, values: Floats) -> Floats:
        """[N, K] numbers of the model's classes, brought to the tags there are; nan for others."""
        spread = np.full((len(values), len(columns.names)), np.nan)
        for source, name in enumerate(self.bundle.classes):
            target = columns.find(name)
            if target is not None:
                spread[:, target] = np.fmax(spread[:, target], values[:, source])
        return spread

    def explain(self, picture: Image.Image) -> Explanation:
        """Probabilities and heat maps of one picture."""
        with self._explaining:
            return next(iter(explain_images(self.bundle, [picture])))

    def explanation(self, row: int, picture: Image.Image) -> Explanation:
        """The same for a photo of the library; the latest ones are kept."""
        explanation = self._explained.get(row)
        if explanation is None:
            explanation = self.explain(picture)
            with self._explaining:
                self._explained[row] = explanation
                while len(self._explained) > KEPT:
                    self._explained.pop(next(iter(self._explained)))
        return explanation

    @cached_property
    def features(self) -> Floats:
        """[N, D] of all photos, of length 1, for finding photos that look alike."""
        from tagfill.train.device import make_accelerator
        from tagfill.train.events import Events
        from tagfill.train.model import Assembly

        source = read_run(self.path)
        assert source.data is not None
        device = make_accelerator(source.config.precision, source.config.threads).device
        rows = np.zeros((len(self.library), 1))
        for split in source.data.splits.values():
            one_split = type(source.data)(split, None, None)
            with Events() as events:
                network = self.bundle.network
                pooled = Assembly(source.config, one_split, device, events, network=network)
                found = pooled.pooled_features()
            if rows.shape[1] == 1:
                rows = np.zeros((len(self.library), found.shape[1]))
            rows[[self.library.table.row_of[image] for image in split.table.images]] = found
        scaled: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return scaled

    def nearest(self, picture: Image.Image, count: int) -> list[tuple[int, float]]:
        """Training photos that look most like a picture: row and similarity in -1..1."""
        import torch

        with self._explaining, torch.no_grad():
            inputs = self.bundle.transform(picture)[None]
            device = next(self.bundle.network.parameters()).device
            pooled = self.bundle.network.backbone.pooled(inputs.to(device))[0]
        vector = pooled.double().cpu().numpy()
        rows = self.library.splits["train"]
        alike = self.features[rows] @ (vector / max(float(np.linalg.norm(vector)), 1e-12))
        order = np.argsort(-alike)[:count]
        return [(int(rows[place]), float(alike[place])) for place in order]


def open_model(path: Path, library: Library) -> ServedModel:
    """Load a run's model and what it says of the library's photos.

    Raises:
        TagfillError: the folder holds no finished run, or one of other photos.
    """
    source = read_run(path)
    if source.bundle is None or source.data is None:
        raise TagfillError("; ".join(source.gaps) or "the run cannot be read", file=path)
    return ServedModel(path.resolve(), source.bundle, _posterior(path, source, library), library)


def open_run(path: Path) -> tuple[Library, ServedModel]:
    """The photos of a run and its model."""
    _, config = RunFolder.open(path)
    library = open_library(config.data)
    return library, open_model(path, library)


def store_posterior(path: Path) -> None:
    """Work out, and keep in the run folder, what a run says of all its photos."""
    _, config = RunFolder.open(path)
    _posterior(path, read_run(path), open_library(config.data))


def _posterior(path: Path, source: Source, library: Library) -> Posterior:
    file = path / POSTERIOR
    about = json.dumps([source.metrics["data_hash"], list(library.table.images)])
    if file.is_file():
        with np.load(file, allow_pickle=False) as stored:
            if str(stored["about"]) == about:
                return Posterior(stored["unwritten"], stored["written"])
    posterior = _computed(path, source, library)
    with atomic_open(file, "wb") as stream:
        np.savez(
            stream,
            about=np.array(about),
            unwritten=posterior.unwritten.astype(np.float32),
            written=posterior.written.astype(np.float32),
        )
    return posterior


def _computed(path: Path, source: Source, library: Library) -> Posterior:
    shape = (len(library), len(source.classes))
    unwritten, written = np.zeros(shape), np.zeros(shape)
    found = recover(path)
    rows = [library.table.row_of[image] for image in found.table.images]
    unwritten[rows], written[rows] = found.evidence.unknown, found.evidence.known
    for scored in source.held_out.values():
        rows = [library.table.row_of[image] for image in scored.split.table.images]
        unwritten[rows] = written[rows] = scored.probabilities
    return Posterior(unwritten, written)


def run_summary(path: Path) -> dict[str, Any]:
    """Metrics, settings and training curve of a run, as JSON."""
    folder, config = RunFolder.open(path)
    events = folder.read_events()
    return {
        "name": path.name,
        "finished": folder.is_finished,
        "method": config.stages[-1].method.name,
        "backbone": config.model.backbone,
        "head": config.model.head,
        "metrics": folder.read_metrics() if folder.is_finished else None,
        "curve": [
            {name: event.get(name) for name in ("stage", "epoch", "epochs", "loss", "score")}
            for event in events
            if event["event"] == "epoch"
        ],
        "notes": [event["text"] for event in events if event["event"] == "note"],
    }
