from __future__ import annotations

import json

import numpy as np
import pytest

from tagfill.errors import TagfillError
from tagfill.evaluate import (
    at_k,
    at_threshold,
    average_precision,
    brier_score,
    count,
    label_ranking_average_precision,
    mean_average_precision,
    precision_recall,
    sigmoid,
    summary,
    top_k,
)


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, 2, size=(80, 4)).astype(np.int8)
    labels[:, 3] = np.minimum(labels[:, 3], 0)
    return rng.random((80, 4)), labels


def test_every_metric_is_that_of_its_function(case):
    scores, labels = case
    metrics = summary(scores, labels, ["a", "b", "c", "none"], threshold=0.6)
    decided, best = at_threshold(scores, 0.6), top_k(scores, labels, 3)
    assert metrics.mAP == mean_average_precision(scores, labels).mAP
    assert metrics.at_threshold == precision_recall(count(decided, labels))
    assert metrics.top_3 == precision_recall(count(best, labels))
    assert metrics.top_3_at_threshold == precision_recall(count(best & decided, labels))
    assert metrics.at_k == at_k(scores, labels, (1, 3, 5))
    assert metrics.ranking.label_ranking_average_precision == label_ranking_average_precision(
        scores, labels
    )
    assert metrics.calibration.brier_score == brier_score(scores, labels)
    assert metrics.classes_without_positives == ("none",)
    assert (metrics.positives, metrics.unknowns) == ((labels == 1).sum(), (labels == -1).sum())


def test_per_class_table(case):
    scores, labels = case
    metrics = summary(scores, labels, threshold=[0.1, 0.2, 0.3, 0.4])
    precisions = average_precision(scores, labels)
    counts = count(at_threshold(scores, [0.1, 0.2, 0.3, 0.4]), labels)
    for number, row in enumerate(metrics.per_class[:3]):
        assert row.name == str(number)
        assert row.threshold == pytest.approx(0.1 * (number + 1))
        assert row.average_precision == precisions[number]
        assert (row.precision, row.recall, row.f1) == (
            counts.precision[number],
            counts.recall[number],
            counts.f1[number],
        )
        assert row.positives + row.negatives + row.unknowns == 80
    assert np.isnan([metrics.per_class[3].recall, metrics.per_class[3].average_precision]).all()


def test_definitions_and_rules_are_stated_and_used(case):
    scores, labels = case
    metrics = summary(scores, labels, definition="interpolated", empty_classes="zero")
    expected = mean_average_precision(
        scores, labels, definition="interpolated", empty_classes="zero"
    )
    assert metrics.mAP == metrics.mAP_by_definition["interpolated"] == expected.mAP
    assert metrics.definitions["average_precision"] == "interpolated"
    assert metrics.definitions["empty_classes"] == "zero"


def test_logits_decide_by_their_probability_and_rank_as_they_are():
    logits = np.array([[50.0, -1.0], [60.0, 1.0], [40.0, -2.0]])
    labels = np.array([[0, 0], [1, 1], [0, 0]], np.int8)
    metrics = summary(logits, labels, logits=True)
    assert metrics.mAP == 100.0  # as probabilities the first column is tied at 1
    assert metrics.at_threshold == precision_recall(count(sigmoid(logits) >= 0.5, labels))
    assert metrics.calibration is not None
    assert summary(logits, labels, threshold=0.0).calibration is None


def test_intervals_only_when_asked_for(case):
    scores, labels = case
    assert summary(scores, labels).intervals == {}
    intervals = summary(scores, labels, resamples=50).intervals
    assert set(intervals) == {"mAP", "overall_f1", "class_f1_of_means"}
    for interval in intervals.values():
        assert interval.low <= interval.value <= interval.high


def test_json_holds_all_of_it_without_nan(case):
    scores, labels = case
    plain = summary(scores, labels, resamples=10).as_dict()
    back = json.loads(json.dumps(plain, allow_nan=False))
    assert back == plain
    assert back["per_class"][3]["average_precision"] is None
    assert back["at_k"]["3"]["hit"] > 0
    nothing = summary(scores, np.full_like(labels, -1)).as_dict()
    assert json.loads(json.dumps(nothing, allow_nan=False))["mAP"] is None


def test_bad_calls_are_refused(case):
    scores, labels = case
    with pytest.raises(TagfillError, match="class names"):
        summary(scores, labels, ["a"])
    with pytest.raises(TagfillError, match="nothing to evaluate"):
        summary(np.empty((0, 3)), np.empty((0, 3), np.int8))
    with pytest.raises(TagfillError, match="definition"):
        summary(scores, labels, definition="other")
