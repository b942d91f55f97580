"""Export a model: write a temporary file, compare and measure it, then move it to its target."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch

from tagfill.errors import TagfillError
from tagfill.export.checks import compare, example_inputs, latencies, mean_precisions
from tagfill.export.files import quantize, write_archive, write_onnx
from tagfill.files import atomic_path
from tagfill.labels import LabelTable
from tagfill.models.bundle import Bundle
from tagfill.models.engines import Engine, archive_engine, onnx_engine, torch_engine
from tagfill.models.tagging import Numbers

Target = Literal["onnx", "torch"]
SUFFIX: dict[Target, str] = {"onnx": ".onnx", "torch": ".pt2"}
TOLERANCE = 1e-4
"""Largest accepted difference of a probability."""


@dataclass(frozen=True)
class Exported:
    """An exported file and how it compares with torch.

    Args:
        difference: largest difference of probabilities and logits, share of changed decisions.
        milliseconds: median by engine and batch size.
        mAP: by engine, in percent, where labeled images were given.
    """

    path: Path
    engine: str
    megabytes: float
    inputs: int
    difference: dict[str, float]
    milliseconds: dict[str, dict[int, float]]
    mAP: dict[str, float] = field(default_factory=dict)  # noqa: N815

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "path": str(self.path)}


def export_model(
    bundle: Bundle,
    out: Path,
    *,
    to: Target = "onnx",
    int8: bool = False,
    images: Path | None = None,
    calibration: Numbers | None = None,
    labeled: tuple[LabelTable, Path] | None = None,
    tolerance: float = TOLERANCE,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Exported:
    """Write a model as one file that needs nothing of tagfill.

    The float file is compared with torch first and refused if any probability differs by more than
    ``tolerance``. An 8-bit file is made from it and only measured: its error is its price.

    Args:
        out: the file; it appears only when all checks are done.
        to: onnx, or torch for a torch.export archive.
        int8: 8-bit weights; ONNX only.
        images: folder of pictures to compare on; drawn scenes by default.
        calibration: [N, 3, H, W] pixels of photos for 8-bit activations; without them only
            weights have 8 bits.
        labeled: labels and image folder, to measure the loss of mAP on.
        tolerance: largest difference of a probability that is accepted.

    Raises:
        TagfillError: the model cannot be traced, or the file differs from it.
    """
    if to not in SUFFIX:
        raise TagfillError(f"cannot export to {to!r}", remedy=f"use one of {', '.join(SUFFIX)}")
    if out.suffix != SUFFIX[to]:
        raise TagfillError(f"the file must end in {SUFFIX[to]}", file=out)
    if int8 and to != "onnx":
        raise TagfillError("8-bit weights need ONNX", remedy="use --to onnx --int8")
    reference = torch_engine(bundle, torch.device("cpu"))
    inputs = example_inputs(reference.metadata, images)
    with atomic_path(out, own_folder=True) as finished:
        draft = finished.with_name(f"float{SUFFIX[to]}")
        if to == "onnx":
            write_onnx(bundle, draft)
        else:
            write_archive(bundle, draft)
        engine = _opened(draft, to)
        difference = compare(reference, engine, inputs)
        if not difference["probabilities"] <= tolerance:
            raise TagfillError(
                f"the exported model differs from torch by {difference['probabilities']:.2g} in"
                f" probability, more than {tolerance:g}; nothing was written",
                remedy="a larger --tolerance accepts it",
            )
        engines = {"torch": reference, engine.name: engine}
        if int8:
            small = finished.with_name("int8.onnx")
            quantize(draft, small, calibration)
            engines["int8"], draft = _opened(small, to), small
            difference = compare(reference, engines["int8"], inputs)
        report = Exported(
            path=out,
            engine=engine.name,
            megabytes=draft.stat().st_size / 1e6,
            inputs=len(inputs),
            difference=difference,
            milliseconds=latencies(engines, inputs),
            mAP={} if labeled is None else mean_precisions(engines, *labeled, progress),
        )
        os.replace(draft, finished)
    return report


def _opened(path: Path, to: Target) -> Engine:
    return onnx_engine(path, torch.get_num_threads()) if to == "onnx" else archive_engine(path)
