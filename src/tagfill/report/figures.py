"""Headline figures with bootstrap intervals, and the reliability diagram."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagfill.evaluate import (
    Interval,
    PrecisionRecall,
    Reliability,
    bootstrap,
    expected_calibration_error,
    mean_average_precision_statistic,
    precision_recall_statistic,
    reliability,
    sigmoid,
)
from tagfill.evaluate.metrics import without_nan
from tagfill.evaluate.resampling import Statistic
from tagfill.labels import NEGATIVE, UNKNOWN
from tagfill.report.charts import Bar, Chart, Point, Scale, Series, across, drawn, ticks, upward
from tagfill.report.source import HeldOut, Source

RESAMPLES, FEWEST = 1000, 100
_WORK = 400_000_000
"""Cells to weigh in all resamples together; large data make do with fewer resamples."""
_TALLEST = 0.25
"""Height of the highest column of counts, as a share of the chart."""


@dataclass(frozen=True)
class Figure:
    """A headline figure.

    Args:
        key: what it is; templates know the words.
        value: in percent; None where there is nothing to measure.
        low, high: 95 % bootstrap interval, where the images could be scored again.
    """

    key: str
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Headline:
    """The figures of one split, and how many resamples their intervals rest on."""

    split: str
    figures: tuple[Figure, ...]
    resamples: int


def resamples_for(cells: int) -> int:
    """How many resamples this much data is given."""
    return int(np.clip(_WORK // max(cells, 1), FEWEST, RESAMPLES))


def statistics(held: HeldOut) -> dict[str, Statistic]:
    """The headline figures of scored images, each as a function of resample weights.

    Without known negatives the only figure takes unknown cells for negative.
    """
    if not held.has_negatives:
        taken = np.where(held.labels == UNKNOWN, NEGATIVE, held.labels)
        return {"observed_mAP": mean_average_precision_statistic(held.logits, taken)}

    def rate(figure: Callable[[PrecisionRecall], float]) -> Statistic:
        share = precision_recall_statistic(held.decided, held.labels, figure)
        return lambda weights: 100 * share(weights)

    return {
        "mAP": mean_average_precision_statistic(held.logits, held.labels),
        "overall_f1": rate(lambda found: found.overall_f1),
        "class_f1": rate(lambda found: found.class_f1_mean_of_f1),
        "overall_precision": rate(lambda found: found.overall_precision),
        "overall_recall": rate(lambda found: found.overall_recall),
    }


def headline(source: Source) -> Headline | None:
    """Figures of the test images, or else of the validation images."""
    split, held = source.judged_name, source.judged
    if split is None:
        return None
    if held is None:
        return Headline(split, _without_intervals(source.metrics[split]), 0)
    count = resamples_for(held.labels.size)
    intervals = {
        key: bootstrap(statistic, len(held.labels), resamples=count)
        for key, statistic in statistics(held).items()
    }
    return Headline(split, tuple(_figure(*each) for each in intervals.items()), count)


def _figure(key: str, found: Interval) -> Figure:
    return Figure(key, *without_nan((found.value, found.low, found.high)))


def _without_intervals(figures: dict[str, Any]) -> tuple[Figure, ...]:
    if "observed_mAP" in figures:
        return (Figure("observed_mAP", figures["observed_mAP"]),)
    rates = figures.get("at_fitted_thresholds") or figures["at_threshold"]
    named = {
        "overall_f1": rates["overall_f1"],
        "class_f1": rates["class_f1_mean_of_f1"],
        "overall_precision": rates["overall_precision"],
        "overall_recall": rates["overall_recall"],
    }
    shares = (Figure(key, None if each is None else 100 * each) for key, each in named.items())
    return Figure("mAP", figures["mAP"]), *shares


@dataclass(frozen=True)
class Calibration:
    """The reliability diagram before and after calibration, and its two errors in percent."""

    chart: Chart
    before: float
    after: float | None
    cells: int


def calibration(held: HeldOut | None) -> Calibration | None:
    """How often tags of a given probability are really there; None where it cannot be told."""
    if held is None or not held.has_negatives:
        return None
    raw = sigmoid(held.logits.astype(np.float64))
    named = {"before": raw}
    if held.bundle.calibration is not None:
        named["after"] = held.probabilities
    bins = {name: reliability(each, held.labels) for name, each in named.items()}
    errors = {
        name: 100 * expected_calibration_error(each, held.labels) for name, each in named.items()
    }
    counts = list(bins.values())[-1]
    return Calibration(
        _reliability_chart(bins, counts), errors["before"], errors.get("after"), _total(counts)
    )


def _reliability_chart(bins: dict[str, Reliability], counts: Reliability) -> Chart:
    x, y = across(0, 1), upward(0, 1)
    even = Series("even", (Point(0, 0), Point(1, 1)))
    lines = [even, *(Series(name, _points(each)) for name, each in bins.items())]
    return Chart(
        "probability the model gives",
        "share that is there",
        ticks(x),
        ticks(y),
        tuple(drawn(line, x, y) for line in lines),
        bars=_columns(counts, x, y),
    )


def _points(bins: Reliability) -> tuple[Point, ...]:
    filled = bins.cells > 0
    pairs = zip(bins.confidence[filled].tolist(), bins.frequency[filled].tolist(), strict=True)
    return tuple(Point(*pair) for pair in pairs)


def _columns(bins: Reliability, x: Scale, y: Scale) -> tuple[Bar, ...]:
    """How many cells fell into each bin, on a logarithmic scale."""
    heights = np.log1p(bins.cells) / np.log1p(bins.cells.max()) * _TALLEST
    width = 1 / len(heights)
    return tuple(
        Bar(
            x(number * width) + 1,
            y(height),
            round(x((number + 1) * width) - x(number * width) - 2, 1),
            round(y(0) - y(height), 1),
        )
        for number, height in enumerate(heights.tolist())
        if height
    )


def _total(bins: Reliability) -> int:
    return int(bins.cells.sum())
