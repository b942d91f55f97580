"""Average precision for many weightings of the images at once, for a quick bootstrap."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagfill.evaluate.arrays import Floats, Scores, checked
from tagfill.evaluate.precision import Curve, Definition, Whole, area_under
from tagfill.labels.table import POSITIVE, UNKNOWN, Labels


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
