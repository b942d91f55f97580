"""Split images: as published, or stratified by tag."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tagfill.arrays import Floats
from tagfill.errors import TagfillError
from tagfill.labels.table import POSITIVE, UNKNOWN, LabelTable, Rows


def published_split(n: int, val_fraction: float = 0.2, seed: int = 1200) -> tuple[Rows, Rows]:
    """Rows for training and validation, equal to those of the single-positive papers.

    Cole et al. 2021 (MLSPL): of one ``RandomState(seed)`` permutation the last round(f n) rows
    validate.

    Returns:
        Training rows and validation rows, each in ascending order.
    """
    order = np.random.RandomState(seed).permutation(n)
    training = n - int(np.round(val_fraction * n))
    return np.sort(order[:training]), np.sort(order[training:])


def stratified_split(
    table: LabelTable, fractions: Mapping[str, float], seed: int
) -> dict[str, Rows]:
    """Draw splits in which every class has about its share of positives.

    Iterative stratification, Sechidis et al. 2011: the class with the fewest images left is dealt
    out first, each of its images to the split that lacks most of that class, then most images.
    Images confirmed to have none of the classes, and images with no known label, count as one class
    each. The split an image goes to depends only on how many were dealt before it, so a class is
    dealt out at once.

    Args:
        table: the images to divide.
        fractions: share of each split; they sum to 1.
        seed: of the draw.

    Returns:
        Rows of each split in ascending order; every row is in exactly one.
    """
    shares = np.array(list(fractions.values()), dtype=np.float64)
    if not len(shares) or (shares <= 0).any() or not np.isclose(shares.sum(), 1):
        given = ", ".join(f"{name} {share:g}" for name, share in fractions.items()) or "none"
        raise TagfillError(f"fractions must be above 0 and sum to 1, got: {given}")
    generator = np.random.default_rng(seed)
    positive, unlabeled = table.values == POSITIVE, (table.values == UNKNOWN).all(axis=1)
    groups = np.column_stack([positive, ~positive.any(axis=1) & ~unlabeled, unlabeled])
    wanted = shares[:, None] * groups.sum(axis=0)
    wanted_images = shares * len(table)
    left = groups.sum(axis=0)
    split_of = np.full(len(table), -1, dtype=np.intp)
    while left.any():
        rarest = int(np.argmin(np.where(left > 0, left, len(table) + 1)))
        rows = generator.permutation(np.flatnonzero(groups[:, rarest] & (split_of < 0)))
        split_of[rows] = _deal(len(rows), wanted[:, rarest], wanted_images, generator)
        for split in range(len(shares)):
            dealt = groups[rows[split_of[rows] == split]]
            wanted[split] -= dealt.sum(axis=0)
            wanted_images[split] -= len(dealt)
            left -= dealt.sum(axis=0)
    return {name: np.flatnonzero(split_of == split) for split, name in enumerate(fractions)}


def _deal(
    count: int,
    wanted: Floats,
    wanted_images: Floats,
    generator: np.random.Generator,
) -> list[int]:
    """The split of each of ``count`` images of one class: most wanted first, ties at random."""
    remaining = [list(pair) for pair in zip(wanted.tolist(), wanted_images.tolist(), strict=True)]
    ties = generator.random((count, len(remaining))).tolist()
    splits = []
    for tie in ties:
        split = max(range(len(remaining)), key=lambda index: (remaining[index], tie[index]))
        remaining[split][0] -= 1
        remaining[split][1] -= 1
        splits.append(split)
    return splits
