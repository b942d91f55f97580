"""`tagfill scenes`: draw the built-in picture-book data set."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tagfill.cli.options import Flag, Json
from tagfill.cli.output import emit, say, show_table
from tagfill.labels.dataset import Dataset


def scenes(
    out: Path,
    *,
    count: int = 2000,
    size: int = 256,
    seed: int = 0,
    difficulty: float = 0.5,
    test_fraction: float = 0.25,
    workers: int | None = None,
    overwrite: Flag = False,
    json: Json = False,
) -> None:
    """Draw the built-in data set of picture-book scenes.

    Writes images, full labels, boxes and a contact sheet.

    Args:
        out: Folder to create.
        count: Number of pictures. A larger number does not change the first ones.
        size: Side of a picture in pixels.
        seed: Other seeds give other pictures.
        difficulty: From 0 (large, clear objects) to 1 (small, occluded, noisy ones).
        test_fraction: Share of pictures in the test split.
        workers: Number of processes; one per core by default.
        overwrite: Replace scenes in the folder.
    """
    from tagfill.scenes import write_scenes

    dataset = write_scenes(
        out,
        count,
        size,
        seed,
        difficulty,
        test_fraction,
        workers=_cores() if workers is None else workers,
        overwrite=overwrite,
    )
    emit(_summary(dataset), _show, json=json)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _summary(dataset: Dataset) -> dict[str, Any]:
    table = dataset.table
    positives = (table.values == 1).sum(axis=0).tolist()
    return {
        "out": str(dataset.image_root),
        "labels": str(dataset.source),
        "images": len(table),
        "classes": len(table.classes),
        "positives": table.positives,
        "positives_per_image": table.positives / len(table),
        "boxes": 0 if dataset.boxes is None else len(dataset.boxes),
        "splits": {name: len(rows) for name, rows in dataset.splits.items()},
        "positives_per_class": dict(zip(table.classes, positives, strict=True)),
    }


def _show(result: Mapping[str, Any]) -> None:
    count = result["images"]
    ranked = sorted(result["positives_per_class"].items(), key=lambda item: -item[1])
    shares = [(name, images, 100 * images / count) for name, images in ranked]
    show_table(f"{count:,} scenes in {result['out']}", ("class", "images", "%"), shares)
    splits = ", ".join(f"{size:,} {name}" for name, size in result["splits"].items())
    say(f"{splits}; {result['positives_per_image']:.2f} positives per image")
    say(f"labels: {result['labels']}")
