"""The draws of the single-positive papers, equal to the published ones bit for bit.

Cole et al. 2021 (MLSPL). Their code walks through the images in order with one
``RandomState(seed)``; for each it shuffles the positives, then the negatives, and keeps the first
few of each. The shuffle of the negatives uses up random numbers even when none is kept, so it
happens here too.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tagfill.errors import TagfillError
from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Labels, Rows

Count = int | Literal["all"]

PUBLISHED_SEED = 1200


def single_positive(truth: Labels, seed: int = PUBLISHED_SEED) -> Labels:
    """Keep one positive of each image, drawn uniformly; everything else becomes unknown.

    An image without a positive ends with no known label.

    Args:
        seed: 1200 is the published one.

    >>> single_positive(np.array([[1, 0, 1], [0, 0, 0]], dtype=np.int8), seed=0)
    array([[-1, -1,  1],
           [-1, -1, -1]], dtype=int8)
    """
    return k_positives_m_negatives(truth, seed, positives=1, negatives=0)


def k_positives_m_negatives(
    truth: Labels, seed: int = PUBLISHED_SEED, *, positives: Count = 1, negatives: Count = 1
) -> Labels:
    """Keep some positives and some negatives of each image, drawn uniformly.

    An image with fewer than asked for keeps all it has.

    Args:
        seed: 1200 is the published one.
        positives: how many of each image's positives stay known, or "all".
        negatives: how many of its negatives stay known, or "all".
    """
    kept = ((POSITIVE, _limit(positives, "positives")), (NEGATIVE, _limit(negatives, "negatives")))
    generator = np.random.RandomState(seed)
    observed = np.full(truth.shape, UNKNOWN, dtype=np.int8)
    for labels, result in zip(truth, observed, strict=True):
        for state, limit in kept:
            columns: Rows = np.flatnonzero(labels == state)
            generator.shuffle(columns)
            result[columns[:limit]] = state
    return observed


def _limit(count: Count, what: str) -> int | None:
    if count == "all":
        return None
    if not isinstance(count, int) or count < 0:
        raise TagfillError(f"{what} must be a whole number from 0 or 'all', got {count!r}")
    return count
