"""`tagfill export`: a model as one file for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from tagfill.arrays import Numbers
from tagfill.cli.features import image_progress
from tagfill.cli.options import Flag, Force, Json
from tagfill.cli.output import log, print_json, say, show_table
from tagfill.errors import TagfillError
from tagfill.files import refuse_existing
from tagfill.labels import LabelTable
from tagfill.labels.formats import ReadOptions

if TYPE_CHECKING:
    from tagfill.export.run import Exported
    from tagfill.models.bundle import Bundle


CALIBRATING = 128
"""Training photos to calibrate 8-bit activations on."""


def export(
    run: Path,
    /,
    *,
    to: Literal["onnx", "torch"] = "onnx",
    out: Path | None = None,
    int8: Flag = False,
    images: Path | None = None,
    data: Path | None = None,
    split: str | None = None,
    tolerance: float = 1e-4,
    force: Force = False,
    json: Json = False,
) -> None:
    """Export a model to one ONNX or torch.export file, checked against the original.

    The file contains normalization, network, calibration and sigmoid. It is not written if its
    outputs differ from the model's.

    Args:
        run: A run folder or a model folder.
        to: onnx, or torch for a torch.export archive (.pt2).
        out: The file; by default model.onnx, model.int8.onnx or model.pt2 in the run folder.
        int8: 8-bit weights, and 8-bit activations if the run's training photos are available for
            calibration: a third of the size; --data measures the loss of mAP.
        images: Folder of the pictures to compare on (and of those in DATA); drawn scenes by
            default.
        data: Labels of pictures: measures the mAP of the model before and after.
        split: The split of DATA to use, if it has splits.
        tolerance: Largest difference of a probability that is accepted.
    """
    from tagfill.export.run import SUFFIX, export_model
    from tagfill.models.bundle import load

    bundle = load(run)
    beside = run if (run / "model").is_dir() else run.parent
    target = out or beside / f"model{'.int8' if int8 else ''}{SUFFIX[to]}"
    refuse_existing(target, force=force)
    with image_progress("mAP of the export", quiet=json) as progress:
        report = export_model(
            bundle,
            target,
            to=to,
            int8=int8,
            images=images,
            calibration=_calibration(run, bundle) if int8 else None,
            labeled=None if data is None else _labeled(data, images, split),
            tolerance=tolerance,
            progress=progress or (lambda done, total: None),
        )
    if json:
        print_json(report.as_dict())
        return
    _show(report)
    if int8 and data is None:
        log.print("note: the loss of mAP from 8 bits was not measured; --data LABELS measures it")


def _calibration(run: Path, bundle: Bundle) -> Numbers | None:
    """Pixels of some training photos of the run; None without a run or without photos."""

    from tagfill.models.tagging import pixels
    from tagfill.train.data import prepare
    from tagfill.train.trained import TrainedRun

    try:
        trained = TrainedRun.of_model(run)
        paths = prepare(trained.config.data).train.paths if trained else None
        if not paths:
            return None
        rows = np.unique(np.linspace(0, len(paths) - 1, CALIBRATING).astype(int))
        size = bundle.network.backbone.spec.size
        return np.stack([pixels(paths[row], size) for row in rows])
    except TagfillError:
        return None


def _labeled(data: Path, images: Path | None, split: str | None) -> tuple[LabelTable, Path]:
    from tagfill.labels.io import load_labels

    dataset = load_labels(data, options=ReadOptions(image_root=images))
    table = dataset.truth or dataset.table
    if split is not None:
        table = table.select(dataset.split(split).images)
    folder = data if data.is_dir() else data.parent
    return table, images or dataset.image_root or folder


def _show(report: Exported) -> None:
    difference = report.difference
    say(
        f"{report.path}: {report.megabytes:.1f} MB; on {report.inputs} inputs the largest"
        f" difference from torch is {difference['probabilities']:.1e} in probability,"
        f" {difference['logits']:.1e} in logits; {difference['decisions_changed']:.2%} of the"
        " decisions change"
    )
    sizes = list(next(iter(report.milliseconds.values())))
    columns = ["engine", *(f"ms, batch {size}" for size in sizes), "mAP"]
    rows = [
        [name, *(times[size] for size in sizes), report.mAP.get(name)]
        for name, times in report.milliseconds.items()
    ]
    show_table("Latency (median)", columns, rows)
