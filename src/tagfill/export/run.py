"""Export a model: write a temporary file, compare and measure it, then move it to its target."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from tagfill.arrays import Numbers
from tagfill.errors import TagfillError
from tagfill.evaluate import mean_average_precision
from tagfill.export.files import quantize, write_archive, write_onnx
from tagfill.files import atomic_path
from tagfill.image_files import find_images
from tagfill.images import list_images, read_ahead
from tagfill.labels import LabelTable
from tagfill.models.bundle import Bundle
from tagfill.models.deploy import Metadata
from tagfill.models.engines import Engine, archive_engine, onnx_engine, torch_engine
from tagfill.models.tagging import UNFITTED, pixels
from tagfill.scenes import generate

Target = Literal["onnx", "torch"]
SUFFIX: dict[Target, str] = {"onnx": ".onnx", "torch": ".pt2"}
TOLERANCE = 1e-4
"""Largest accepted difference of a probability."""
COMPARED = 16
BATCH_SIZES = (1, 8)


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


_WARM_UP, _REPEATS, _BATCH = 2, 9, 16


def example_inputs(metadata: Metadata, images: Path | None = None) -> Numbers:
    """Inputs to compare on: pictures of a folder, else drawn scenes; random features."""
    if metadata.reads == "features":
        rng = np.random.default_rng(0)
        shape = (COMPARED, metadata.channels, *((7, 7) if metadata.maps else ()))
        return rng.normal(size=shape).astype(np.float32)
    if images is None:
        scenes = generate(COMPARED, max(metadata.size, 64), 0)
        return np.stack([pixels(scene.image, metadata.size) for scene in scenes])
    files = list_images(images)
    if not files:
        raise TagfillError("this folder has no images", file=images)
    chosen = files[:: max(1, len(files) // COMPARED)][:COMPARED]
    return np.stack([pixels(file, metadata.size) for file in chosen])


def compare(first: Engine, second: Engine, inputs: Numbers) -> dict[str, float]:
    """Largest differences of probabilities and logits, and the share of decisions that change."""
    ours, theirs = first.run(inputs), second.run(inputs)
    limits = np.asarray(first.metadata.thresholds or UNFITTED, dtype=np.float32)
    changed = (ours[0] >= limits) != (theirs[0] >= limits)
    return {
        "probabilities": float(np.abs(ours[0] - theirs[0]).max()),
        "logits": float(np.abs(ours[1] - theirs[1]).max()),
        "decisions_changed": float(changed.mean()),
    }


def latencies(engines: Mapping[str, Engine], inputs: Numbers) -> dict[str, dict[int, float]]:
    """Median milliseconds by engine and batch size, the engines measured in turns."""
    seconds = {name: {size: list[float]() for size in BATCH_SIZES} for name in engines}
    for size in BATCH_SIZES:
        for _ in range(_WARM_UP + _REPEATS):
            for name, engine in engines.items():
                started = time.perf_counter()
                engine.run(inputs[:size])
                seconds[name][size].append(time.perf_counter() - started)
    return {
        name: {size: 1000 * statistics.median(times[_WARM_UP:]) for size, times in sizes.items()}
        for name, sizes in seconds.items()
    }


def mean_precisions(
    engines: Mapping[str, Engine],
    table: LabelTable,
    root: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, float]:
    """mAP of each engine in percent on labeled images, which are decoded once for all."""
    metadata = next(iter(engines.values())).metadata
    paths = find_images(root, table.images)
    if None in paths:
        missing = table.images[paths.index(None)]
        raise TagfillError(f"{missing!r} is not there", file=root, remedy="give --images DIR")
    inputs = read_ahead(
        lambda path: pixels(path, metadata.size), filter(None, paths), workers=2, ahead=2 * _BATCH
    )
    scores: dict[str, list[Numbers]] = {name: [] for name in engines}
    done = 0
    while batch := list(islice(inputs, _BATCH)):
        for name, engine in engines.items():
            scores[name].append(engine.probabilities(np.stack(batch)))
        done += len(batch)
        progress(done, len(paths))
    labels = table.with_classes(metadata.classes).values
    return {
        name: mean_average_precision(np.concatenate(rows), labels).mAP
        for name, rows in scores.items()
    }
