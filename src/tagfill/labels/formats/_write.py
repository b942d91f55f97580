"""Shared by writers: the split of every row, and notes on what a format cannot hold."""

from __future__ import annotations

import numpy as np

from tagfill.labels.dataset import Dataset
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, LabelTable


def split_of_rows(dataset: Dataset) -> tuple[list[str], list[str]]:
    """The split of every row ('' for none), and what one name per row cannot hold."""
    names = [""] * len(dataset.table)
    lost = []
    for split, rows in dataset.splits.items():
        twice = 0
        for row in rows:
            twice += names[row] != ""
            names[row] = names[row] or split
        if twice:
            lost.append(
                f"{twice} images of split {split!r} are in an earlier split too; only that one"
                " is written"
            )
        if not len(rows):
            lost.append(f"split {split!r} has no images and is not written")
    return names, lost


def not_held(dataset: Dataset, *, suggestions: bool = False) -> list[str]:
    """Notes on content besides labels and splits that is not written.

    Args:
        dataset: what is being written.
        suggestions: whether the format holds a model's suggestions.
    """
    lost = []
    if dataset.boxes is not None:
        lost.append(f"{len(dataset.boxes)} boxes are not written")
    if dataset.truth is not None:
        lost.append("the full labels behind the masked ones are not written")
    if dataset.hierarchy:
        lost.append(f"which of {len(dataset.hierarchy)} tags imply others is not written")
    if dataset.features:
        lost.append(f"feature files are not written: {', '.join(dataset.features)}")
    if dataset.suggestions is not None and not suggestions:
        lost.append(f"{len(dataset.suggestions)} suggested tags are not written")
    return lost


def positives_only(table: LabelTable) -> list[str]:
    """What a format that names positives only cannot hold of a table."""
    lost = []
    if table.negatives:
        lost.append(
            f"{table.negatives} negatives are not written: this format names positives only"
            + ("" if table.unknowns else "; read it with --absent negative to get them back")
        )
    none = int(((table.values != POSITIVE).all(1) & (table.values == NEGATIVE).any(1)).sum())
    blank = int((table.values == UNKNOWN).all(1).sum())
    if none and blank:
        lost.append(
            f"{none} images known to lack some or all classes look like the {blank} without any"
            " known label"
        )
    return lost


def known_labels(table: LabelTable, row: int, value: int) -> list[str]:
    """Names of the classes that have a value in one row."""
    return [table.classes[column] for column in np.flatnonzero(table.values[row] == value)]
