from __future__ import annotations

import numpy as np
import pytest

from tagfill.evaluate.counts import count, precision_recall
from tagfill.evaluate.precision import mean_average_precision
from tagfill.evaluate.resampling import (
    bootstrap,
    mean_average_precision_statistic,
    paired_bootstrap,
    precision_recall_statistic,
)


def simulated(rng, images=300, classes=6, signal=1.5, unknown=0.2):
    labels = (rng.random((images, classes)) < 0.2).astype(np.int8)
    scores = rng.normal(size=labels.shape) + signal * labels
    labels[rng.random(labels.shape) < unknown] = -1
    return scores, labels


@pytest.mark.parametrize("empty_classes", ["skip", "zero"])
def test_statistic_is_the_metric_of_the_resampled_images(empty_classes):
    scores, labels = simulated(np.random.default_rng(0))
    labels[:, 2] = np.where(labels[:, 2] == 1, 0, labels[:, 2])
    statistic = mean_average_precision_statistic(scores, labels, empty_classes=empty_classes)
    weights = np.random.default_rng(1).integers(0, 3, size=(len(scores), 4))
    for number, value in enumerate(statistic(weights)):
        rows = np.repeat(np.arange(len(scores)), weights[:, number])
        expected = mean_average_precision(scores[rows], labels[rows], empty_classes=empty_classes)
        assert value == pytest.approx(expected.mAP)


def test_precision_recall_statistic_is_the_metric_of_the_resampled_images():
    scores, labels = simulated(np.random.default_rng(0))
    decided = scores > 0.7
    statistic = precision_recall_statistic(decided, labels, "class_f1_of_means")
    weights = np.random.default_rng(1).integers(0, 3, size=(len(scores), 2))
    for number, value in enumerate(statistic(weights)):
        rows = np.repeat(np.arange(len(scores)), weights[:, number])
        expected = precision_recall(count(decided[rows], labels[rows])).class_f1_of_means
        assert value == pytest.approx(expected)


def test_interval_holds_the_metric_and_is_reproducible():
    scores, labels = simulated(np.random.default_rng(0))
    statistic = mean_average_precision_statistic(scores, labels)
    interval = bootstrap(statistic, len(scores), resamples=200, seed=7)
    assert interval.value == pytest.approx(mean_average_precision(scores, labels).mAP)
    assert interval.low < interval.value < interval.high
    assert interval == bootstrap(statistic, len(scores), resamples=200, seed=7)
    assert interval != bootstrap(statistic, len(scores), resamples=200, seed=8)


def test_interval_narrows_with_more_images_and_lower_level():
    rng = np.random.default_rng(0)
    widths = []
    for images, level in ((200, 0.95), (3200, 0.95), (3200, 0.5)):
        scores, labels = simulated(rng, images=images)
        statistic = mean_average_precision_statistic(scores, labels)
        interval = bootstrap(statistic, images, resamples=150, level=level)
        widths.append(interval.high - interval.low)
    assert widths[0] > 2.5 * widths[1] > 2.5 * widths[2]


def test_interval_covers_the_population_metric_about_as_often_as_it_says():
    population = mean_average_precision(*simulated(np.random.default_rng(99), images=60_000)).mAP
    covered = 0
    for seed in range(60):
        scores, labels = simulated(np.random.default_rng(seed), images=300)
        statistic = mean_average_precision_statistic(scores, labels)
        interval = bootstrap(statistic, 300, resamples=200, level=0.9, seed=seed)
        covered += interval.low <= population <= interval.high
    assert 42 <= covered <= 60


def test_pairing_tells_apart_what_single_intervals_cannot():
    rng = np.random.default_rng(4)
    scores, labels = simulated(rng, images=600)
    worse = scores + 0.35 * rng.normal(size=scores.shape)
    better, poorer = (
        mean_average_precision_statistic(values, labels) for values in (scores, worse)
    )
    difference = paired_bootstrap(better, poorer, 600, resamples=300)
    first, second = (bootstrap(statistic, 600, resamples=300) for statistic in (better, poorer))
    assert difference.low > 0
    assert difference.first_better > 0.99
    assert second.high > first.low  # the single intervals overlap
    assert difference.value == pytest.approx(first.value - second.value)


def test_a_model_against_itself_differs_by_nothing():
    scores, labels = simulated(np.random.default_rng(0))
    statistic = mean_average_precision_statistic(scores, labels)
    difference = paired_bootstrap(statistic, statistic, len(scores), resamples=50)
    assert (difference.value, difference.low, difference.high) == (0.0, 0.0, 0.0)
    assert difference.first_better == 0.5


def test_a_rare_class_that_loses_its_positives_does_not_pull_the_interval_down():
    """One positive ranked first: perfect whenever it is drawn, out of the mean when it is not."""
    scores = -np.arange(20.0)[:, None]
    labels = (np.arange(20)[:, None] == 0).astype(np.int8)
    for rule in ("skip", "zero"):
        statistic = mean_average_precision_statistic(scores, labels, empty_classes=rule)
        interval = bootstrap(statistic, 20, resamples=100)
        assert interval.low == interval.high == 100.0
