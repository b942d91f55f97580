"""Uncertainty of metrics: percentile bootstrap over images, and paired differences of two models.

A resample is a whole-number weight for every image. A statistic takes [N, B] weights, B resamples
at a time, and returns [B] values; statistics that sort do so once, before the first resample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagfill.arrays import Floats
from tagfill.evaluate.arrays import EmptyClasses, means_over_classes
from tagfill.evaluate.counts import Counts, decision_masks, rates_of
from tagfill.evaluate.precision import Definition, WeightedAveragePrecision
from tagfill.labels.table import POSITIVE

Weights = npt.NDArray[Any]
"""[N, B] how often each image counts in each of B resamples."""
Statistic = Callable[[Weights], Floats]

_RESAMPLES_AT_ONCE = 64


@dataclass(frozen=True)
class Interval:
    """A metric with its percentile bootstrap interval."""

    value: float
    low: float
    high: float
    level: float
    resamples: int


@dataclass(frozen=True)
class Difference(Interval):
    """First minus second model on the same resamples, in the unit of the metric.

    Args:
        first_better: share of resamples in which the first is higher, ties counting half.
    """

    first_better: float


def bootstrap(
    statistic: Statistic, images: int, *, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> Interval:
    """Percentile interval of a statistic when images are drawn again with replacement.

    Args:
        statistic: such as ``mean_average_precision_statistic(scores, labels)``.
        seed: fixes the draws; the same seed draws the same images for every statistic.
    """
    value, drawn = _evaluate(statistic, images, resamples, seed)
    return Interval(value, *_percentiles(drawn, level), level=level, resamples=resamples)


def paired_bootstrap(
    first: Statistic,
    second: Statistic,
    images: int,
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Difference:
    """Interval of the difference of two statistics, both taken on the same resamples.

    Pairing removes what both models share (hard images), so a difference far smaller than either
    model's own interval can still be significant.
    """

    def difference(weights: Weights) -> Floats:
        return first(weights) - second(weights)

    value, drawn = _evaluate(difference, images, resamples, seed)
    return Difference(
        value,
        *_percentiles(drawn, level),
        level=level,
        resamples=resamples,
        first_better=float(np.mean((drawn > 0) + 0.5 * (drawn == 0))),
    )


def mean_average_precision_statistic(
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    definition: Definition = "non_interpolated",
    empty_classes: EmptyClasses = "skip",
) -> Statistic:
    """The mAP in percent, as a statistic.

    A class that has positives but none in a resample is left out of that resample's mean under
    both rules; counting it as zero would pull the interval down for rare classes.
    """
    weighted = WeightedAveragePrecision(scores, labels, definition=definition)
    has_positives = (np.asarray(labels) == POSITIVE).any(axis=0)
    share = has_positives.mean() if empty_classes == "zero" else 1.0

    def statistic(weights: Weights) -> Floats:
        values = weighted(weights)
        return np.asarray(100.0 * share * means_over_classes(values, ~np.isnan(values), "skip"))

    return statistic


def precision_recall_statistic(
    decided: npt.ArrayLike,
    labels: npt.ArrayLike,
    metric: str,
    *,
    empty_classes: EmptyClasses = "skip",
) -> Statistic:
    """A metric of ``PrecisionRecall`` as a statistic, such as "overall_f1"."""
    entries = [kind.astype(np.float64) for kind in decision_masks(decided, labels)]

    def statistic(weights: Weights) -> Floats:
        transposed = weights.T.astype(np.float64)
        tp, fp, fn = (transposed @ part for part in entries)
        return rates_of(Counts(tp, fp, fn), empty_classes)[metric]

    return statistic


def _evaluate(statistic: Statistic, images: int, resamples: int, seed: int) -> tuple[float, Floats]:
    value = float(statistic(np.ones((images, 1), dtype=np.uint8))[0])
    parts = [statistic(weights) for weights in _draw(images, resamples, seed)]
    return value, np.concatenate(parts) if parts else np.empty(0)


def _draw(images: int, resamples: int, seed: int) -> Iterator[Weights]:
    """Weights of the resamples; a count overflows uint8 with probability below 1 / 256!."""
    rng = np.random.default_rng(seed)
    for start in range(0, resamples, _RESAMPLES_AT_ONCE):
        size = min(_RESAMPLES_AT_ONCE, resamples - start)
        weights = np.empty((images, size), dtype=np.uint8)
        for number in range(size):
            weights[:, number] = np.bincount(rng.integers(images, size=images), minlength=images)
        yield weights


def _percentiles(drawn: Floats, level: float) -> tuple[float, float]:
    defined = drawn[~np.isnan(drawn)]
    if not len(defined):
        return float("nan"), float("nan")
    outside = 50.0 * (1.0 - level)
    low, high = np.percentile(defined, [outside, 100.0 - outside])
    return float(low), float(high)
