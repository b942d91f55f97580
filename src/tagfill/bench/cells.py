"""Run a cell, or load its cached result; results are cached by content."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from filelock import FileLock

from tagfill.arrays import Numbers
from tagfill.bench.data import make_variant, open_source
from tagfill.bench.plan import Cell, cell_key
from tagfill.errors import TagfillError
from tagfill.evaluate import mean_average_precision, summary
from tagfill.files import atomic_path, write_json
from tagfill.labels import NEGATIVE, Labels
from tagfill.labels.io import load_labels
from tagfill.models.bundle import load as load_bundle
from tagfill.train.config import DataConfig, RunConfig
from tagfill.train.data import TrainingData, prepare, without_unreadable
from tagfill.train.events import Sink
from tagfill.train.folder import RunFolder
from tagfill.train.limits import Interrupted
from tagfill.train.run import configure, resume, train
from tagfill.train.save import load_checkpoint
from tagfill.train.score import score_images
from tagfill.train.trained import TrainedRun

RESULT, SCORES, FAILURE = "cell.json", "scores.npz", "failure.json"
Metrics = Mapping[str, Mapping[str, float]]
"""Metric to split ("val", "test" or "train") to value."""
Work = Callable[[Path, Sequence[Sink]], Metrics]
"""Computes the metrics of a cell in its folder."""


@dataclass(frozen=True)
class Outcome:
    """The result of a cell; without metrics after a failure."""

    cell: Cell
    metrics: Metrics
    folder: Path
    error: str | None = None


def kept_scores(folder: Path) -> tuple[Numbers, Labels]:
    """[N, K] logits of the test images of a finished cell, and their labels."""
    with np.load(folder / SCORES) as stored:
        return stored["test"], stored["test_labels"]


def run_cell(cell: Cell, data: Path, out: Path, sinks: Sequence[Sink] = ()) -> Outcome:
    """The metrics of a cell: cached in ``out``, or from a run that is started or resumed.

    A failure is recorded and tried again at the next call. A cell that another process is
    running is waited for. ``Interrupted`` is passed on; the run can be resumed.
    """
    folder, work = _task(cell, data, out)
    (out / "locks").mkdir(parents=True, exist_ok=True)
    with FileLock(out / "locks" / folder.name):
        cached = _cached(cell, folder)
        if cached is not None and cached.error is None:
            return cached
        return _run(cell, folder, work, sinks)


def _run(cell: Cell, folder: Path, work: Work, sinks: Sequence[Sink]) -> Outcome:
    try:
        metrics = work(folder, sinks)
    except (Interrupted, KeyboardInterrupt):
        raise
    except Exception as error:  # one failed cell must not stop the others
        message = str(error) if isinstance(error, TagfillError) else repr(error)
        write_json(folder / FAILURE, {"cell": cell.place, "message": message})
        return Outcome(cell, {}, folder, message)
    write_json(folder / RESULT, {"cell": cell.place, "metrics": metrics})
    return Outcome(cell, metrics, folder)


def find_cell(cell: Cell, data: Path, out: Path) -> Outcome | None:
    """The cached result of a cell, without running anything."""
    try:
        return _cached(cell, _task(cell, data, out)[0])
    except TagfillError:  # its data are missing
        return None


def _task(cell: Cell, data: Path, out: Path) -> tuple[Path, Work]:
    """The folder of a cell, and what computes its metrics there."""
    variant = make_variant(open_source(cell.source, data, out), cell.labels, out)
    if cell.model is not None:
        model = data / cell.model
        weights = model / "model.safetensors"
        content = weights.read_bytes() if weights.is_file() else None
        digest = "absent" if content is None else hashlib.blake2b(content).hexdigest()
        key = hashlib.blake2b(f"{variant.identity}{digest}".encode(), digest_size=10)
        return out / "cells" / key.hexdigest(), partial(_evaluate, model, variant.config)
    prepared = without_unreadable(prepare(variant.config))
    config, _ = configure(cell.request(variant.config), prepared)
    key_of_run = cell_key(config, variant.identity)
    return out / "cells" / key_of_run, partial(_train, config, prepared)


def _cached(cell: Cell, folder: Path) -> Outcome | None:
    for name in (RESULT, FAILURE):
        if (folder / name).is_file():
            stored = json.loads((folder / name).read_text(encoding="utf-8"))
            return Outcome(cell, stored.get("metrics", {}), folder, stored.get("message"))
    return None


def _train(
    config: RunConfig, data: TrainingData, folder: Path, sinks: Sequence[Sink]
) -> dict[str, dict[str, float]]:
    """Train to the end, keep scores and metrics, and delete checkpoints."""
    if (folder / FAILURE).is_file() or not RunFolder(folder).config.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        finished = train(config, data, folder, sinks)
    else:
        finished = resume(folder, sinks)
    metrics = _held_out_metrics(finished.metrics) | _keep_scores(finished)
    shutil.rmtree(finished.folder.checkpoint.parent, ignore_errors=True)
    return metrics


def _evaluate(
    model: Path, data: DataConfig, folder: Path, _: Sequence[Sink]
) -> dict[str, dict[str, float]]:
    """Score the test images with a trained model and evaluate; the scores are cached."""
    bundle = load_bundle(model)
    dataset = load_labels(data.labels, format=data.format)
    table = dataset.split("test").with_classes(bundle.classes)
    images = None if data.images is None else Path(data.images)
    scored = score_images(bundle, dataset, table, images=[images])
    logits, labels = scored.logits, np.asarray(scored.split.table.values)
    with atomic_path(folder / SCORES) as draft:
        np.savez_compressed(draft, test=logits, test_labels=labels)
    measured = summary(logits, labels, bundle.classes, logits=True).as_dict()
    return _held_out_metrics({"test": measured})


def _held_out_metrics(of_run: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    metrics: dict[str, dict[str, float]] = {"mAP": {}, "interpolated_mAP": {}, "OF1": {}, "CF1": {}}
    for split in ("val", "test"):
        measured = of_run.get(split) or {}
        if measured.get("mAP") is not None:
            metrics["mAP"][split] = measured["mAP"]
            metrics["interpolated_mAP"][split] = measured["mAP_by_definition"]["interpolated"]
        fitted = measured.get("at_fitted_thresholds") or {}
        for name, key in (("OF1", "overall_f1"), ("CF1", "class_f1_of_means")):
            if fitted.get(key) is not None:
                metrics[name][split] = 100 * fitted[key]
    return metrics


def _keep_scores(run: TrainedRun) -> dict[str, dict[str, float]]:
    """Keep scores for comparisons, and the metrics that need the trained model."""
    data, metrics = run.data, {}
    held_out = [split for split in ("val", "test") if split in data.splits]
    arrays: dict[str, npt.NDArray[Any]] = {split: run.scores(split) for split in held_out}
    arrays |= {f"{split}_labels": data.splits[split].eval_labels for split in held_out}
    with atomic_path(run.path / SCORES) as draft:
        np.savez_compressed(draft, allow_pickle=False, **arrays)
    truth = data.train.truth
    if truth is not None and run.stage.inputs == "features":
        metrics["train_mAP"] = {"train": mean_average_precision(run.scores("train"), truth).mAP}
    precision = None if truth is None else _pseudo_precision(run.folder.checkpoint, truth)
    if precision is not None:
        metrics["pseudo_precision"] = {"train": precision}
    return metrics | _pseudo_positives(run.folder)


def _pseudo_precision(checkpoint: Path, truth: Labels) -> float | None:
    """Share of the negative pseudo-labels of the last epoch that are right, in percent."""
    if not checkpoint.is_file():
        return None
    state = load_checkpoint(checkpoint)[0].get("method", {})
    if "pseudo" not in state:
        return None
    labeled = state["pseudo"].cpu().numpy() >= 0
    return 100 * float((truth[labeled] == NEGATIVE).mean()) if labeled.any() else None


def _pseudo_positives(folder: RunFolder) -> dict[str, dict[str, float]]:
    """Precision and recall of the positive pseudo-labels of the last epoch."""
    epochs = [event for event in folder.read_events() if event["event"] == "epoch"]
    logged = (epochs[-1].get("pseudo_labels") or {}) if epochs else {}
    measured = logged.get("positives", {})
    return {
        f"positive_{name}": {"train": 100 * measured[name]}
        for name in ("precision", "recall")
        if measured.get(name) is not None
    }
