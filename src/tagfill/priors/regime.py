"""How labels came to be known, inferred from their pattern."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tagfill.arrays import Mask
from tagfill.labels.stats import Regime
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels

SEVERAL_CLASSES = 10
"""Of so many, no few answers complete an image."""


def complete_rows(observed: Labels) -> Mask:
    """[N] images labeled in full.

    Where there is one class, a known label makes no image complete: then all are, or none.
    """
    if observed.shape[1] == 1:
        return np.full(len(observed), not (observed == UNKNOWN).any())
    complete: Mask = (observed != UNKNOWN).all(axis=1)
    return complete


def labeled_in_full(observed: Labels) -> Mask:
    """[N] images that somebody labeled in full, whatever is on them.

    Where other images are not complete and classes are few, or nothing is known to be absent, an
    image's written or likely tags may be all there are: those images say nothing about others.
    """
    rows = complete_rows(observed)
    few = observed.shape[1] < SEVERAL_CLASSES or not (observed[rows] == NEGATIVE).any()
    return np.zeros_like(rows) if few and not rows.all() else rows


def regime_of(observed: Labels) -> Regime:
    """The regime an incomplete table looks like; images labeled in full are left out of it.

    Negatives are no sign of known entries where every image has the same number of them and the
    same number of positives, or where they are fewer than the positives, as after a review of
    likely tags: then entries were chosen by their label.
    """
    partial = observed[~complete_rows(observed)]
    if not len(partial):
        return Regime.FULL
    positives = (partial == POSITIVE).sum(axis=1)
    negatives = (partial == NEGATIVE).sum(axis=1)
    alike = positives.min() == positives.max() > 0 and negatives.min() == negatives.max()
    if negatives.any() and not alike:
        return Regime.PARTIAL if negatives.sum() >= positives.sum() else Regime.REVIEWED
    single = observed.shape[1] > 1 and positives.max(initial=0) == 1
    asked = single and _mostly_labeled(positives)
    return Regime.SINGLE_POSITIVE if asked else Regime.POSITIVE_ONLY


def _mostly_labeled(positives: npt.NDArray[np.int_]) -> bool:
    """Single positives are asked of every image; a share of them leaves many without."""
    return bool((positives > 0).mean() > 0.5)
