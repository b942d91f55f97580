"""Agreement of an exported file with its model, and its speed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path

import numpy as np

from tagfill.errors import TagfillError
from tagfill.evaluate import mean_average_precision
from tagfill.image_files import find_images
from tagfill.images import list_images, read_ahead
from tagfill.labels import LabelTable
from tagfill.models.deploy import Metadata
from tagfill.models.engines import Engine
from tagfill.models.tagging import UNFITTED, Numbers, pixels
from tagfill.scenes import generate

COMPARED = 16
BATCH_SIZES = (1, 8)
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
