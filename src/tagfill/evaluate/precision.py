"""Average precision under its published definitions, exact with ties and with unknown entries.

Everything rests on one observation: the precision-recall curve needs to be known only at the
distinct scores of the positives, because a threshold between two of them has the recall of the
higher one at a lower precision. So each column's scores are sorted as plain values, without their
labels, and the positives are looked up in them. A bootstrap needs the order of the images, too, but
sorts only once for all of its weightings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from tagfill.arrays import Floats, Integers
from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import EmptyClasses, Scores, blocks, checked, mean_over_classes
from tagfill.labels.table import POSITIVE, UNKNOWN, Labels

Definition = Literal["non_interpolated", "interpolated", "eleven_point"]
Whole = Integers
DEFINITIONS: tuple[Definition, ...] = get_args(Definition)


class Curve(NamedTuple):
    """What a threshold at each distinct score of a positive would predict, lowest score first.

    Args:
        true_positives: [T] or [T, B] positives with at least that score (B weightings of images).
        predicted: [T] or [T, B] known entries with at least that score.
    """

    true_positives: Whole
    predicted: Whole


@dataclass(frozen=True)
class MeanAveragePrecision:
    """Mean average precision and its parts.

    Args:
        mAP: in percent; NaN when no class could be scored.
        average_precision: [K] fractions, NaN for classes without positives.
        without_positives: numbers of the classes that have no known positive.
        empty_classes: whether those classes were skipped or counted as zero.
    """

    mAP: float  # noqa: N815
    average_precision: Floats
    without_positives: tuple[int, ...]
    definition: Definition
    empty_classes: EmptyClasses


def average_precision(
    scores: npt.ArrayLike, labels: npt.ArrayLike, *, definition: Definition = "non_interpolated"
) -> Floats:
    """Average precision of every class.

    With P(s) the precision of "positive when the score is at least s" and s_i the scores of the n
    positives: ``non_interpolated`` is (1/n) sum_i P(s_i), which is scikit-learn's step-wise sum
    with ties grouped; ``interpolated`` replaces P by its monotone envelope max_{t <= s} P(t) (VOC
    2010); ``eleven_point`` averages that envelope at the recalls 0, 0.1, ..., 1 (VOC 2007).

    Returns:
        [K] fractions; NaN for a class without positives.

    >>> average_precision([[0.9], [0.8], [0.7]], [[1], [0], [1]])
    array([0.83333333])
    """
    area = area_under(definition)
    score_array, label_array = checked(scores, labels)
    images, classes = score_array.shape
    result = np.full(classes, np.nan)
    for block in blocks(classes, images):
        columns = np.ascontiguousarray(score_array[:, block].T)
        states = np.ascontiguousarray(label_array[:, block].T)
        for number, (column, state) in enumerate(zip(columns, states, strict=True), block.start):
            positives = column[state == POSITIVE]
            if len(positives):
                known = np.flatnonzero(state != UNKNOWN)  # faster than by a mask
                result[number] = area(_curve(column[known], positives))
    return result


def mean_average_precision(
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    definition: Definition = "non_interpolated",
    empty_classes: EmptyClasses = "skip",
) -> MeanAveragePrecision:
    """Mean over classes of the average precision, in percent.

    Args:
        empty_classes: what classes without positives add to the mean.
    """
    values = average_precision(scores, labels, definition=definition)
    defined = ~np.isnan(values)
    return MeanAveragePrecision(
        mAP=100.0 * mean_over_classes(values, defined, empty_classes),
        average_precision=values,
        without_positives=tuple(np.flatnonzero(~defined).tolist()),
        definition=definition,
        empty_classes=empty_classes,
    )


class WeightedAveragePrecision:
    """Average precision of every class for many weightings of the images, sorting only once.

    An image counts as often as its weight says, so the weights of a resample give exactly the
    average precision of the resampled images.
    """

    def __init__(
        self,
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        definition: Definition = "non_interpolated",
    ) -> None:
        score_array, label_array = checked(scores, labels)
        self._area = area_under(definition)
        self._columns = [
            _SortedColumn.of(score, state)
            for score, state in zip(score_array.T, label_array.T, strict=True)
        ]

    def __call__(self, weights: npt.NDArray[Any]) -> Floats:
        """[B, K] average precisions under [N, B] whole weights; NaN where no positive has weight.

        Weights may be of a small type (uint8); sums are taken in int64.
        """
        result = np.full((weights.shape[1], len(self._columns)), np.nan)
        for number, column in enumerate(self._columns):
            if column is not None:
                result[:, number] = self._area(column.curve(weights))
        return result


def area_under(definition: str) -> Callable[[Curve], Floats]:
    """The area under a curve as the named definition measures it."""
    areas: dict[str, Callable[[Curve], Floats]] = {
        "non_interpolated": lambda curve: _mean_over_positives(_precision(curve), curve),
        "interpolated": lambda curve: _mean_over_positives(
            np.maximum.accumulate(_precision(curve), axis=0), curve
        ),
        "eleven_point": _eleven_point_area,
    }
    if definition not in areas:
        raise TagfillError(
            f"unknown definition of average precision {definition!r}",
            remedy=f"use one of {', '.join(areas)}",
        )
    return areas[definition]


def _curve(known: Scores, positives: Scores) -> Curve:
    known.sort()
    positives.sort()
    thresholds, first = np.unique(positives, return_index=True)
    return Curve(
        true_positives=len(positives) - first,
        predicted=len(known) - np.searchsorted(known, thresholds),
    )


def _precision(curve: Curve) -> Floats:
    return np.asarray(curve.true_positives / np.maximum(curve.predicted, 1))


def _mean_over_positives(values: Floats, curve: Curve) -> Floats:
    at_threshold = curve.true_positives.copy()
    at_threshold[:-1] -= curve.true_positives[1:]
    with np.errstate(invalid="ignore"):
        return np.asarray((values * at_threshold).sum(axis=0) / curve.true_positives[0])


def _eleven_point_area(curve: Curve) -> Floats:
    """Recall levels are compared as integers: 10 TP >= level * n needs no rounding."""
    precision, hits = _precision(curve), curve.true_positives
    total = hits[0]
    points = [
        np.where(10 * hits >= level * total, precision, 0.0).max(axis=0) for level in range(11)
    ]
    return np.where(total > 0, np.mean(points, axis=0), np.nan)


class _SortedColumn(NamedTuple):
    """One class: row numbers by ascending score from the lowest positive on, and where to cut."""

    known: npt.NDArray[np.int32]
    known_cuts: npt.NDArray[np.intp]
    positives: npt.NDArray[np.int32]
    positive_cuts: npt.NDArray[np.intp]

    @classmethod
    def of(cls, scores: Scores, labels: Labels) -> _SortedColumn | None:
        positives = _rows_by_score(scores, np.flatnonzero(labels == POSITIVE))
        if not len(positives):
            return None
        known = _rows_by_score(scores, np.flatnonzero(labels != UNKNOWN))
        thresholds, positive_cuts = np.unique(scores[positives], return_index=True)
        cuts = np.searchsorted(scores[known], thresholds)
        return cls(known[cuts[0] :], cuts - cuts[0], positives, positive_cuts)

    def curve(self, weights: npt.NDArray[Any]) -> Curve:
        return Curve(
            true_positives=_weight_from(weights[self.positives], self.positive_cuts),
            predicted=_weight_from(weights[self.known], self.known_cuts),
        )


def _rows_by_score(scores: Scores, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int32]:
    return rows[np.argsort(scores[rows])].astype(np.int32)


def _weight_from(weights: npt.NDArray[Any], cuts: npt.NDArray[np.intp]) -> Whole:
    """[T, B] total weight from each cut to the end."""
    between = np.add.reduceat(weights, cuts, axis=0, dtype=np.int64)
    return between[::-1].cumsum(axis=0)[::-1]
