"""Calibration metrics: do probabilities match observed frequencies, on known entries?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import Floats, Scores, checked
from tagfill.labels.table import POSITIVE, UNKNOWN, Labels


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predicted against observed frequency in bins of equal width ([bins] each).

    Args:
        confidence: mean probability of the entries in the bin, NaN where it is empty.
        frequency: share of positives among them, NaN where it is empty.
        entries: how many known entries fell into the bin.
    """

    confidence: Floats
    frequency: Floats
    entries: npt.NDArray[np.int64]


def reliability(
    probabilities: npt.ArrayLike, labels: npt.ArrayLike, *, bins: int = 15
) -> Reliability:
    """The reliability diagram of all known entries pooled.

    Args:
        bins: number of bins of equal width; the last one includes 1.
    """
    return _binned(*_known(*_checked(probabilities, labels)), bins)


def expected_calibration_error(
    probabilities: npt.ArrayLike, labels: npt.ArrayLike, *, bins: int = 15
) -> float:
    """ECE = sum over bins of (entries in bin / entries) * |mean probability - share of positives|.

    All known entries are pooled; most are easy negatives, so compare models on the same data only.
    """
    return _gap(reliability(probabilities, labels, bins=bins))


def classwise_calibration_error(
    probabilities: npt.ArrayLike, labels: npt.ArrayLike, *, bins: int = 15
) -> Floats:
    """[K] the expected calibration error of each class; NaN for a class with no known entry."""
    columns = zip(*(matrix.T for matrix in _checked(probabilities, labels)), strict=True)
    return np.array([_gap(_binned(*_known(*column), bins)) for column in columns])


def brier_score(probabilities: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Mean over known entries of (probability - label)^2; NaN when nothing is known."""
    predicted, truth = _known(*_checked(probabilities, labels))
    return float(np.square(predicted - truth).mean()) if len(predicted) else float("nan")


def _checked(probabilities: npt.ArrayLike, labels: npt.ArrayLike) -> tuple[Scores, Labels]:
    predicted, states = checked(probabilities, labels)
    if predicted.size and (predicted.min() < 0 or predicted.max() > 1):
        raise TagfillError(
            f"calibration needs probabilities, got scores from {predicted.min():g}"
            f" to {predicted.max():g}",
            remedy="turn logits into probabilities first",
        )
    return predicted, states


def _known(predicted: Scores, states: Labels) -> tuple[Floats, Floats]:
    known = states != UNKNOWN
    return predicted[known].astype(np.float64), (states[known] == POSITIVE).astype(np.float64)


def _binned(predicted: Floats, truth: Floats, bins: int) -> Reliability:
    number = np.minimum((predicted * bins).astype(np.intp), bins - 1)
    entries = np.bincount(number, minlength=bins)
    with np.errstate(invalid="ignore"):
        confidence = np.bincount(number, weights=predicted, minlength=bins) / entries
        frequency = np.bincount(number, weights=truth, minlength=bins) / entries
    return Reliability(confidence, frequency, entries)


def _gap(bins: Reliability) -> float:
    total = bins.entries.sum()
    if not total:
        return float("nan")
    filled = bins.entries > 0
    gaps = np.abs(bins.confidence[filled] - bins.frequency[filled])
    return float((gaps * bins.entries[filled]).sum() / total)
