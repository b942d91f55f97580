"""The functions of ``import tagfill``: train, open, and use a run."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from tagfill.api.given import (
    LabelInput,
    as_dataset,
    common_folder,
    is_path,
    keep,
    keep_features,
    named,
)
from tagfill.api.run import Run
from tagfill.api.table import Table
from tagfill.errors import TagfillError, nearest, speaks_python
from tagfill.labels import Dataset
from tagfill.models.tagging import Pictures, Prediction
from tagfill.remote import allow
from tagfill.settings import fitted_fields
from tagfill.train import run as runs
from tagfill.train.config import (
    Augment,
    DataConfig,
    Mode,
    OptimizerName,
    Precision,
    ScheduleName,
    Select,
    ValSplit,
)
from tagfill.train.events import progress_sinks
from tagfill.train.folder import GIVEN, RunFolder, free_path
from tagfill.train.method import trust_methods
from tagfill.train.processes import is_first_process
from tagfill.train.protocols import PresetName, ProtocolName
from tagfill.train.resolve import Request
from tagfill.trust import trust

if TYPE_CHECKING:
    import numpy.typing as npt
    from PIL.Image import Image

    from tagfill.export.run import Exported, Target


class Settings(TypedDict, total=False):
    """Everything else that can be set; the same as the options of ``tagfill train``."""

    format: str
    absent: str
    difficult: str
    val_fraction: float
    val_split: ValSplit
    split_seed: int
    image_column: str
    tags_columns: tuple[str, ...]
    separator: str
    ignore_columns: tuple[str, ...]
    hierarchy: str
    merge_case: bool
    aliases: tuple[tuple[str, str], ...]
    zeros: Literal["negative", "unknown"]
    quality: Literal["auto", "fast", "good", "best"]
    l2: float
    backbone: str
    head: str
    head_preset: str
    head_settings: dict[str, Any]
    weights: str
    pretrained: bool
    input_size: int
    lgconv: bool
    freeze_stages: int
    freeze_batchnorm: bool
    freeze_statistics: bool
    init: str
    epochs: int
    batch_size: int
    learning_rate: float
    optimizer: OptimizerName
    weight_decay: float
    head_multiplier: float
    schedule: ScheduleName
    warmup: float
    clip: float
    accumulate: int
    schedule_epochs: int
    ema: float
    ema_warmup: bool
    patience: int
    augment: Augment
    strong_views: int
    strong_jitter: bool
    fresh_views: bool
    linear_epochs: int
    linear_learning_rate: float
    second_epochs: int
    second_learning_rate: float
    seed: int
    select: Select
    precision: Precision
    workers: int
    threads: int
    time_limit: float
    checkpoint_seconds: float
    gradient_checkpointing: bool
    shard: bool


_DATA = {field.name for field in dataclasses.fields(DataConfig)}


@speaks_python
def fit(
    labels: LabelInput,
    *,
    images: str | Path | Sequence[str | Path] | None = None,
    features: str | npt.ArrayLike | None = None,
    classes: Sequence[str] | None = None,
    truth: LabelInput | None = None,
    val: LabelInput | None = None,
    test: LabelInput | None = None,
    method: str = "auto",
    method_settings: dict[str, Any] | None = None,
    method_preset: str | None = None,
    mode: Mode = "auto",
    protocol: ProtocolName | None = None,
    preset: PresetName | None = None,
    out: str | Path | None = None,
    progress: bool | None = None,
    **settings: Unpack[Settings],
) -> Run:
    """Train a model from incomplete labels; the same as ``tagfill train``.

    Args:
        labels: a label file or folder, a ``LabelTable``, a ``Dataset``, a data frame with a column
            per class or a column of tags, or an array [N, K] of 1 (positive), 0 (negative) and -1
            (unknown).
        images: folder of the images; or, for an array, the file of each row.
        features: for labels in memory, a matrix [N, D] to train on instead of images. For a source
            with several feature sets, the name of one.
        classes: for an array, names of its columns.
        truth: the full labels behind masked ones, to evaluate by and for oracle methods.
        val: labels of the validation images.
        test: labels of the test images.
        method: name of a method, path of a Python file with one, or auto.
        method_settings: hyper-parameters of the method.
        method_preset: a preset of the method.
        mode: auto, linear, finetune, linear_init or two_stage.
        protocol: train as a paper states it.
        preset: fast, good or best.
        out: the run folder; by default a new one under ``tagfill-runs``.
        progress: show progress; by default on a terminal and in a notebook.
        settings: all other options of ``tagfill train --help``, such as epochs=20. Labels: format,
            absent, difficult, image_column, tags_columns, separator, ignore_columns, hierarchy,
            merge_case, aliases, zeros, val_fraction, val_split, split_seed. Network: backbone,
            weights, pretrained, input_size, quality, lgconv, freeze_stages, freeze_batchnorm,
            freeze_statistics, head, head_preset, head_settings, init. Loop: epochs, batch_size,
            learning_rate, optimizer, weight_decay, l2, head_multiplier, schedule, schedule_epochs,
            warmup, clip, accumulate, ema, ema_warmup, patience, select, augment, strong_views,
            strong_jitter, fresh_views; of one of several stages: linear_epochs,
            linear_learning_rate, second_epochs, second_learning_rate. Machine: seed, precision,
            workers, threads, time_limit, checkpoint_seconds, gradient_checkpointing, shard.
    """
    _refuse_misspelled(settings)
    allow(labels, images, features, truth, val, test)
    name = Path(str(labels)).stem if is_path(labels) else ""
    target = Path(out) if out is not None else free_path(name or "run")
    folder, start, first = target / GIVEN, RunFolder(target), is_first_process()
    if first:
        start.require_free()
    try:
        listed = None if images is None or is_path(images) else list(images)  # type: ignore[arg-type]
        dataset = None if is_path(labels) else as_dataset(labels, listed, classes)
        if dataset is not None and features is None and images is None:
            _require_images(dataset)
        data: dict[str, Any] = {}
        for name, split in {"truth": truth, "val": val, "test": test}.items():
            if split is not None:
                file = split if is_path(split) else keep(named(split, dataset, name), folder, name)
                data[name] = str(file)
        data |= {name: settings.pop(name) for name in list(settings) if name in _DATA}  # type: ignore[misc]
        data["labels"] = str(labels if dataset is None else keep(dataset, folder, "labels"))
        root = images if is_path(images) else dataset and dataset.image_root
        root = common_folder(listed) if listed else root
        data["images"] = None if root is None else str(root)
        data["features"] = _features(features, dataset, folder)
        request = Request(
            data=DataConfig(**fitted_fields(DataConfig, data)),
            mode=mode,
            method=trust(method),
            method_preset=method_preset,
            method_settings=method_settings or {},
            protocol=protocol,
            preset=preset,
            overrides=dict(settings),
        )
        return Run.adopt(runs.fit(request, target, progress_sinks(progress)))
    except TagfillError:
        if first and not start.config.exists():
            start.discard_start()
        raise


@speaks_python
def resume(path: str | Path, *, progress: bool | None = None, trust_code: bool = False) -> Run:
    """Continue an interrupted run; it ends as if it had never stopped.

    Args:
        path: the run folder.
        progress: show progress; by default on a terminal and in a notebook.
        trust_code: run the Python file of the method, where the run names one.
    """
    if trust_code:
        trust_methods(RunFolder.open(Path(path))[1])
    return Run.adopt(runs.resume(Path(path), progress_sinks(progress)))


@speaks_python
def open_run(path: str | Path, *, progress: bool | None = None, trust_code: bool = False) -> Run:
    """Open a run folder; nothing in it is executed.

    Args:
        path: what ``tagfill train`` or ``fit`` wrote.
        progress: show progress of what takes long; by default on a terminal and in a notebook.
        trust_code: where the run's method is a Python file, ``recover`` may run it.
    """
    run = Run.open(path, progress_sinks(progress))
    if trust_code:
        trust_methods(run.config)
    return run


def predict(run: str | Path | Run, images: Pictures, **options: Any) -> list[Prediction]:
    """Tags of images; see ``Run.predict``."""
    return _opened(run).predict(images, **options)


def recover(run: str | Path | Run, **options: Any) -> Table:
    """Missing tags of the training images; see ``Run.recover``."""
    return _opened(run).recover(**options)


def explain(run: str | Path | Run, image: str | Path | Image, **options: Any) -> Image:
    """Where in an image tags are seen; see ``Run.explain``."""
    return _opened(run).explain(image, **options)


def report(run: str | Path | Run, out: str | Path | None = None) -> Path:
    """Write one HTML page about a run; see ``Run.report``."""
    return _opened(run).report(out)


_PERCENTAGES = (
    "mAP",
    "overall F1",
    "class F1",
    "estimated mAP",
    "estimated precision",
    "estimated recall",
    "recall of written tags",
)


@speaks_python
def compare(
    *runs: str | Path | Run | Sequence[str | Path | Run], out: str | Path | None = None
) -> Table:
    """Metrics of several runs side by side, in percent.

    Where no absent tag is known, mAP, precision and recall are estimates and called so.

    Args:
        runs: runs or their folders, one by one or in lists.
        out: also write an HTML page that compares them with the first.
    """
    listed = [[run] if isinstance(run, str | Path | Run) else run for run in runs]
    opened = [_opened(run) for several in listed for run in several]
    if not opened:
        raise TagfillError("there are no runs to compare", remedy="give runs or their folders")
    if out is not None:
        from tagfill.report.page import write_comparison

        write_comparison(opened, out)
    rows = [_compared(run) for run in opened]
    shown = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    filled = [{name: row[name] for name in shown} for row in rows]
    return Table(filled, title="comparison", bars=_PERCENTAGES)


def _compared(run: Run) -> dict[str, Any]:
    split = next((name for name in ("test", "val") if run.metrics.get(name)), None)
    measured = run.metrics[split] if split else {}
    rates = measured.get("at_fitted_thresholds") or measured.get("at_threshold") or {}
    estimated = measured.get("estimated") or {}
    shares = {
        "overall F1": rates.get("overall_f1"),
        "class F1": rates.get("class_f1_mean_of_f1"),
        "estimated precision": estimated.get("overall_precision"),
        "estimated recall": estimated.get("overall_recall"),
        "recall of written tags": estimated.get("recall_of_written"),
    }
    percentages = {name: None if s is None else 100 * s for name, s in shares.items()}
    percentages |= {"mAP": measured.get("mAP"), "estimated mAP": estimated.get("mAP")}
    about = {"run": run.name, "method": run.metrics["method"], "images": split}
    return about | {name: percentages[name] for name in _PERCENTAGES}


def export(
    run: str | Path | Run, out: str | Path, *, to: Target = "onnx", int8: bool = False
) -> Exported:
    """Write a model as one file to deploy; see ``Run.export``."""
    return _opened(run).export(out, to=to, int8=int8)


def _opened(run: str | Path | Run) -> Run:
    return run if isinstance(run, Run) else open_run(run)


def _refuse_misspelled(settings: Mapping[str, Any]) -> None:
    """Refuse a setting that looks like an argument of ``fit``; others are checked with the rest."""
    arguments = set(inspect.signature(fit).parameters) - {"settings"}
    for name in settings:
        near = nearest(name, arguments)
        if near and name not in Settings.__annotations__:
            raise TagfillError(f"fit has no argument {name!r}", remedy=near.strip())


def _require_images(dataset: Dataset) -> None:
    """Refuse labels in memory whose images cannot be found by their names."""
    if dataset.image_root is None and not Path(dataset.table.images[0]).is_absolute():
        raise TagfillError(
            "these labels do not say where their images are",
            remedy="give images, a folder or the file of each row, or features, a matrix [N, D]",
        )


def _features(
    features: str | npt.ArrayLike | None, dataset: Dataset | None, folder: Path
) -> str | None:
    if features is None or isinstance(features, str):
        return features
    if dataset is None:
        raise TagfillError(
            "an array of features needs labels in memory, for the order of its rows",
            remedy="load the labels with tagfill.load_labels, or give features as a .npy file",
        )
    return str(keep_features(features, folder, len(dataset.table)))
