"""Headline metrics with bootstrap intervals, and the reliability diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tagfill.evaluate import (
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
from tagfill.report.content import HeldOut, RunContent

RATES = {
    "overall_f1": "overall_f1",
    "class_f1": "class_f1_mean_of_f1",
    "overall_precision": "overall_precision",
    "overall_recall": "overall_recall",
}
"""Shares of the headline, and their names among the metrics."""
RESAMPLES, FEWEST = 1000, 100
_WORK = 400_000_000
"""Largest number of entries times resamples; large data get fewer resamples."""
_TALLEST = 0.25
"""Height of the highest column of counts, as a share of the chart."""


@dataclass(frozen=True)
class Metric:
    """A headline metric.

    Args:
        key: what it is; templates know the words.
        value: in percent; None if there is nothing to measure.
        low, high: 95 % bootstrap interval, where the images could be scored again.
    """

    key: str
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Headline:
    """The metrics of one split, and how many resamples their intervals rest on."""

    split: str
    metrics: tuple[Metric, ...]
    resamples: int


def resamples_for(entries: int) -> int:
    return int(np.clip(_WORK // max(entries, 1), FEWEST, RESAMPLES))


def statistics(held: HeldOut) -> dict[str, Statistic]:
    """The headline metrics of scored images, each as a function of resample weights.

    Without known negatives the only metric takes unknown entries for negative.
    """
    if not held.has_negatives:
        taken = np.where(held.labels == UNKNOWN, NEGATIVE, held.labels)
        return {"observed_mAP": mean_average_precision_statistic(held.logits, taken)}

    def rate(metric: str) -> Statistic:
        share = precision_recall_statistic(held.decided, held.labels, metric)
        return lambda weights: 100 * share(weights)

    mean = mean_average_precision_statistic(held.logits, held.labels)
    return {"mAP": mean, **{key: rate(name) for key, name in RATES.items()}}


def headline(content: RunContent) -> Headline | None:
    """Metrics of the test images, or else of the validation images."""
    split, held = content.evaluated_name, content.evaluated
    if split is None:
        return None
    if held is None:
        return Headline(split, _without_intervals(content.metrics[split]), 0)
    count = resamples_for(held.labels.size)
    measured = []
    for key, statistic in statistics(held).items():
        interval = bootstrap(statistic, len(held.labels), resamples=count)
        ends = without_nan((interval.value, interval.low, interval.high))
        measured.append(Metric(key, *ends))
    return Headline(split, (*measured, *_estimated(content.metrics[split])), count)


def _without_intervals(metrics: dict[str, Any]) -> tuple[Metric, ...]:
    if "observed_mAP" in metrics:
        return Metric("observed_mAP", metrics["observed_mAP"]), *_estimated(metrics)
    rates = metrics.get("at_fitted_thresholds") or metrics.get("at_threshold") or {}
    shares = ((key, rates.get(name)) for key, name in RATES.items())
    rated = (Metric(key, None if share is None else 100 * share) for key, share in shares)
    return Metric("mAP", metrics.get("mAP")), *rated


def _estimated(metrics: dict[str, Any]) -> tuple[Metric, ...]:
    estimated = metrics.get("estimated") or {}
    shares = ("overall_precision", "overall_recall", "recall_of_written")
    rates = [(key, estimated.get(key)) for key in shares if key in estimated]
    named = [("mAP", estimated["mAP"])] if "mAP" in estimated else []
    named += [(key, None if share is None else 100 * share) for key, share in rates]
    return tuple(Metric(f"estimated_{key}", value) for key, value in named)


def calibration(held: HeldOut | None) -> dict[str, Any] | None:
    """The reliability diagram before and after calibration, and its two errors in percent.

    None if it is not known how often tags of a probability are present.
    """
    if held is None or not held.has_negatives:
        return None
    raw = sigmoid(held.logits.astype(np.float64))
    named = {"before": raw}
    if held.bundle.calibration is not None:
        named["after"] = held.probabilities
    bins = {name: reliability(probabilities, held.labels) for name, probabilities in named.items()}
    errors = {
        name: 100 * expected_calibration_error(probabilities, held.labels)
        for name, probabilities in named.items()
    }
    counts = list(bins.values())[-1]
    return {
        "chart": _reliability_chart(bins, counts),
        "before": errors["before"],
        "after": errors.get("after"),
        "entries": int(counts.entries.sum()),
    }


def _reliability_chart(bins: dict[str, Reliability], counts: Reliability) -> Chart:
    x, y = across(0, 1), upward(0, 1)
    even = Series("even", (Point(0, 0), Point(1, 1)))
    lines = [even]
    for name, named in bins.items():
        filled = named.entries > 0
        shares = (named.confidence[filled].tolist(), named.frequency[filled].tolist())
        lines.append(Series(name, tuple(map(Point, *shares))))
    return Chart(
        "predicted probability",
        "share of actual positives",
        ticks(x),
        ticks(y),
        tuple(drawn(line, x, y) for line in lines),
        bars=_columns(counts, x, y),
    )


def _columns(bins: Reliability, x: Scale, y: Scale) -> tuple[Bar, ...]:
    """How many entries fell into each bin, on a logarithmic scale."""
    heights = np.log1p(bins.entries) / np.log1p(bins.entries.max()) * _TALLEST
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
