"""Counts of class priors, and what they are scaled by."""

from __future__ import annotations

import numpy as np

from tagfill.arrays import Floats
from tagfill.labels.table import POSITIVE, UNKNOWN, Labels

ONE_SIDED = 1.645
"""Normal quantile of a one-sided 95 % bound."""


def count_known(observed: Labels) -> Floats:
    """[K] positives among known entries: unbiased where entries are known at random.

    Classes without a known entry get the mean of the others.
    """
    known = (observed != UNKNOWN).sum(axis=0)
    positives = (observed == POSITIVE).sum(axis=0)
    share = positives / np.maximum(known, 1)
    rest = positives.sum() / max(int(known.sum()), 1)
    prior: Floats = np.where(known > 0, share, rest)
    return prior


def observed_rate(observed: Labels) -> Floats:
    """[K] share of images with an observed positive: what counting unknown as negative gives."""
    rate: Floats = (observed == POSITIVE).mean(axis=0)
    return rate


def scaled(prior: Floats, k: float) -> Floats:
    """The prior multiplied so that it sums to k, no class above 1."""
    result = np.maximum(prior, 1e-12)
    for _ in range(50):
        free = result < 1
        room = k - float((~free).sum())
        if not free.any() or room <= 0 or abs(result.sum() - k) < 1e-9:
            break
        result = np.where(free, np.minimum(result * room / result[free].sum(), 1.0), 1.0)
    return result
