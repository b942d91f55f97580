"""Mask a data set: one split of it, all splits, or all of its images."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tagfill.errors import TagfillError
from tagfill.labels import Dataset, Rows
from tagfill.observe.regimes import Masking

ALL = "all"
TRAIN = "train"


def observe_dataset(
    dataset: Dataset, regime: Masking, seed: int, split: str | None = None
) -> Dataset:
    """Hide labels of a data set by a regime.

    Full labels are taken from ``dataset.truth`` where there is one, else from the table. Images
    outside the masked split keep their full labels, so that metrics are not biased. Each split is
    drawn with a fresh generator from the same seed, as the published code does with its files.

    Args:
        split: name of the split to mask, or "all"; by default "train" where there are splits, else
            all images.

    Returns:
        The same data set with the observed labels as its table and the full ones as its truth.
    """
    if not 0 <= seed < 2**32:
        raise TagfillError(f"seed must lie between 0 and {2**32 - 1}, got {seed}")
    truth = dataset.truth or dataset.table
    values = truth.values.copy()
    for rows in _masked_rows(dataset, split):
        boxes = None if dataset.boxes is None else dataset.boxes.take(rows, len(truth))
        values[rows] = regime.observe(truth.values[rows], seed, boxes)
    return replace(dataset, table=truth.with_values(values), truth=truth)


def observe_official(dataset: Dataset, regime: Masking, seed: int) -> Dataset:
    """Hide labels of the training images by a regime, before validation is held out.

    The published code draws over training and validation images together, in their order, and
    divides them afterwards; drawing over the training images alone would give other labels.
    Validation and test images keep their full labels.

    Args:
        dataset: full labels with a split "train", perhaps "val", and others.

    Returns:
        The same data set with the observed labels as its table and the full ones as its truth.
    """
    held_out = [dataset.splits[name] for name in ("train", "val") if name in dataset.splits]
    together = replace(dataset, splits={"train": np.sort(np.concatenate(held_out))})
    observed = observe_dataset(together, regime, seed, "train")
    values = (observed.truth or observed.table).values.copy()
    train = dataset.splits["train"]
    values[train] = observed.table.values[train]
    return replace(observed, table=observed.table.with_values(values), splits=dataset.splits)


def default_split(dataset: Dataset) -> str:
    """The split that is masked by default."""
    if not dataset.splits:
        return ALL
    if TRAIN not in dataset.splits:
        raise TagfillError(
            f"there is no split {TRAIN!r} to mask",
            file=dataset.source,
            remedy=f"choose with --split: {', '.join(dataset.splits)} or {ALL}",
        )
    return TRAIN


def _masked_rows(dataset: Dataset, split: str | None) -> list[Rows]:
    chosen = default_split(dataset) if split is None else split
    if chosen != ALL:
        dataset.split(chosen)
        return [dataset.splits[chosen]]
    free = np.ones(len(dataset.table), dtype=bool)
    groups = []
    for rows in dataset.splits.values():
        groups.append(rows[free[rows]])
        free[rows] = False
    groups.append(np.flatnonzero(free))
    return groups
