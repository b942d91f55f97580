"""`tagfill scenes`: draw the built-in picture-book data set."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tagfill.cli.output import console, print_json, table
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
    overwrite: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Draw the built-in picture-book data set: images, full labels, boxes, a contact sheet.

    Args:
        out: Folder to create.
        count: Number of pictures. A larger number does not change the first ones.
        size: Side of a picture in pixels.
        seed: Other seeds give other pictures.
        difficulty: From 0 (large, clear objects) to 1 (small, occluded, noisy ones).
        test_fraction: Share of pictures in the test split.
        workers: Number of processes; one per core by default.
        overwrite: Replace scenes in the folder.
        json: Print one JSON object.
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
    if json:
        print_json(_summary(dataset))
    else:
        _show(dataset)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _summary(dataset: Dataset) -> dict[str, object]:
    positives = (dataset.table.values == 1).sum(axis=0)
    return {
        "out": str(dataset.image_root),
        "images": len(dataset.table),
        "classes": len(dataset.table.classes),
        "positives": dataset.table.positives,
        "positives_per_image": dataset.table.positives / len(dataset.table),
        "boxes": 0 if dataset.boxes is None else len(dataset.boxes),
        "splits": {name: len(rows) for name, rows in dataset.splits.items()},
        "positives_per_class": dict(zip(dataset.table.classes, map(int, positives), strict=True)),
    }


def _show(dataset: Dataset) -> None:
    count = len(dataset.table)
    positives = (dataset.table.values == 1).sum(axis=0)
    rows = sorted(
        zip(dataset.table.classes, map(int, positives), strict=True), key=lambda row: -row[1]
    )
    title = f"{count:,} scenes in {dataset.image_root}"
    shares = [(name, images, 100 * images / count) for name, images in rows]
    console.print(table(title, ("class", "images", "%"), shares))
    splits = ", ".join(f"{len(part):,} {name}" for name, part in dataset.splits.items())
    console.print(f"{splits}; {dataset.table.positives / count:.2f} positives per image")
    console.print(f"labels {dataset.source}")
