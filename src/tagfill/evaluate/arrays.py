"""Shared by all metrics: check scores against labels, cut large matrices into blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt

from tagfill.arrays import Floats, Mask, Matrix
from tagfill.errors import TagfillError
from tagfill.labels.table import POSITIVE, UNKNOWN, Labels

Scores = Matrix
"""[N, K]; higher means "more likely positive". Only the order matters unless a metric says more."""

EmptyClasses = Literal["skip", "zero"]
"""What a class without a known positive adds to a mean over classes: nothing, or a zero."""

_ENTRIES_IN_A_BLOCK = 1 << 22


def checked(scores: npt.ArrayLike, labels: npt.ArrayLike) -> tuple[Scores, Labels]:
    """Scores as floats and labels as int8, proven to fit each other.

    Raises:
        TagfillError: shapes differ, a score is not finite, or a label is not 1, 0 or -1.
    """
    score_array, label_array = np.asarray(scores), np.asarray(labels)
    if score_array.ndim != 2 or score_array.shape != label_array.shape:
        raise TagfillError(
            f"scores {score_array.shape} and labels {label_array.shape} must be matrices"
            " [images, classes] of the same shape"
        )
    if not np.issubdtype(score_array.dtype, np.floating):
        score_array = score_array.astype(np.float64)
    if not np.isfinite(score_array).all():
        row, column = np.argwhere(~np.isfinite(score_array))[0]
        raise TagfillError(
            f"score of row {row}, class {column} is {score_array[row, column]}, not a finite number"
        )
    if label_array.dtype != np.bool_ and label_array.size:
        low, high = label_array.min(), label_array.max()
        whole = (
            np.issubdtype(label_array.dtype, np.integer)
            or np.isin(label_array, (UNKNOWN, 0, POSITIVE)).all()
        )
        if low < UNKNOWN or high > POSITIVE or not whole:
            raise TagfillError("labels must be 1 (positive), 0 (negative) or -1 (unknown)")
    return score_array, label_array.astype(np.int8, copy=False)


def checked_targets(scores: npt.ArrayLike, targets: npt.ArrayLike) -> tuple[Scores, Floats]:
    """Scores, and probabilities of their labels: 0 to 1, NaN where nothing is known.

    Args:
        targets: [N, K] probabilities that entries are positive; -1 or NaN where nothing is known,
            so that plain labels will do.
    """
    chances = np.array(targets, dtype=np.float64)
    chances[chances == UNKNOWN] = np.nan
    known = np.isfinite(chances)
    score_array, _ = checked(scores, np.where(known, 1, UNKNOWN))
    if known.any() and not 0 <= chances[known].min() <= chances[known].max() <= 1:
        raise TagfillError("probabilities of labels must be in 0 to 1, or NaN where unknown")
    return score_array, chances


def blocks(length: int, width: int) -> Iterator[slice]:
    """Slices over ``length`` lines of ``width`` entries each, small enough to work on at once."""
    step = max(1, _ENTRIES_IN_A_BLOCK // max(1, width))
    for start in range(0, length, step):
        yield slice(start, min(start + step, length))


def sigmoid(logits: npt.ArrayLike) -> Floats:
    """Probabilities of logits, without overflow and exact in the lower tail."""
    values = np.asarray(logits, dtype=np.float64)
    small = np.exp(-np.abs(values))
    return np.asarray(np.where(values >= 0, 1.0, small) / (1.0 + small))


def mean_over_classes(values: Floats, defined: Mask, empty_classes: EmptyClasses) -> float:
    """Mean of [K] values; classes that are not defined are left out or count as zero."""
    return float(means_over_classes(values, defined, empty_classes))


def means_over_classes(values: Floats, defined: Mask, empty_classes: EmptyClasses) -> Floats:
    """[...] means of [..., K] values; NaN where no class is defined and they are left out."""
    total = np.where(defined, values, 0.0).sum(axis=-1)
    classes = np.where(empty_classes == "zero", values.shape[-1], defined.sum(axis=-1))
    means: Floats = np.full(total.shape, np.nan)
    np.divide(total, classes, out=means, where=classes > 0)
    return means
