from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from sklearn.metrics import average_precision_score
from tests.evaluate.hostile import matrices

from tagfill.errors import TagfillError
from tagfill.evaluate.precision import (
    DEFINITIONS,
    WeightedAveragePrecision,
    average_precision,
    mean_average_precision,
)


def curve_points(scores, labels):
    """(recall, precision) at every distinct threshold of one class's known entries."""
    known = labels != -1
    scores, positive = scores[known], labels[known] == 1
    for threshold in np.unique(scores)[::-1]:
        chosen = scores >= threshold
        yield (positive & chosen).sum() / positive.sum(), (positive & chosen).sum() / chosen.sum()


def slow_interpolated(scores, labels):
    points, area, reached = list(curve_points(scores, labels)), 0.0, 0.0
    for recall, _ in points:
        area += (recall - reached) * max(p for r, p in points if r >= recall)
        reached = recall
    return area


def slow_eleven_point(scores, labels):
    points = list(curve_points(scores, labels))
    levels = [
        max((p for r, p in points if r >= level / 10 - 1e-12), default=0.0) for level in range(11)
    ]
    return float(np.mean(levels))


def slow_non_interpolated(scores, labels):
    known = labels != -1
    return average_precision_score(labels[known], scores[known])


SLOW = {
    "non_interpolated": slow_non_interpolated,
    "interpolated": slow_interpolated,
    "eleven_point": slow_eleven_point,
}


@pytest.mark.parametrize("definition", DEFINITIONS)
@given(case=matrices())
@settings(max_examples=150, deadline=None)
@example(case=(np.zeros((4, 1)), np.array([[1], [0], [1], [-1]], np.int8)))
@example(case=(np.arange(6.0).reshape(3, 2), np.ones((3, 2), np.int8)))
@example(case=(np.arange(6.0).reshape(3, 2), np.full((3, 2), -1, np.int8)))
def test_equals_its_slow_definition_on_known_entries(definition, case):
    scores, labels = case
    values = average_precision(scores, labels, definition=definition)
    for column in range(labels.shape[1]):
        if (labels[:, column] == 1).any():
            expected = SLOW[definition](scores[:, column], labels[:, column])
            assert values[column] == pytest.approx(expected, abs=1e-9)
        else:
            assert np.isnan(values[column])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_equals_scikit_learn_on_a_large_tied_matrix(dtype):
    rng = np.random.default_rng(3)
    labels = (rng.random((3000, 15)) < 0.05).astype(np.int8)
    scores = np.round(rng.normal(size=labels.shape) + labels, 1).astype(dtype)
    expected = [average_precision_score(labels[:, k], scores[:, k]) for k in range(15)]
    np.testing.assert_allclose(average_precision(scores, labels), expected, rtol=0, atol=1e-9)


def test_blocks_of_classes_change_nothing(monkeypatch):
    rng = np.random.default_rng(5)
    labels = rng.integers(-1, 2, size=(40, 11)).astype(np.int8)
    scores = rng.random((40, 11))
    whole = average_precision(scores, labels)
    monkeypatch.setattr("tagfill.evaluate.arrays._ENTRIES_IN_A_BLOCK", 120)
    np.testing.assert_array_equal(average_precision(scores, labels), whole)


def test_inputs_are_left_as_they_were():
    scores, labels = np.random.default_rng(0).random((50, 4)), np.ones((50, 4), np.int8)
    before = scores.copy()
    average_precision(scores, labels)
    np.testing.assert_array_equal(scores, before)


def test_published_order_of_the_definitions():
    """Interpolation only ever raises the curve."""
    rng = np.random.default_rng(1)
    labels = (rng.random((500, 10)) < 0.02).astype(np.int8)
    scores = rng.normal(size=labels.shape) + labels
    step, envelope = (
        mean_average_precision(scores, labels, definition=name).mAP for name in DEFINITIONS[:2]
    )
    assert step < envelope


def test_eleven_point_reads_recall_levels_without_rounding():
    """Three of ten positives found is recall 0.3 exactly, which floats miss (0.1 * 3 > 0.3)."""
    labels = np.array([[1]] * 3 + [[0]] * 90 + [[1]] * 7, np.int8)
    scores = -np.arange(100.0)[:, None]
    low = 10 / 100
    expected = (4 * 1.0 + 7 * low) / 11
    assert average_precision(scores, labels, definition="eleven_point")[0] == pytest.approx(
        expected
    )


def test_classes_without_positives_are_reported_and_ruled_on():
    scores = np.array([[0.9, 0.1, 0.3], [0.2, 0.8, 0.4]])
    labels = np.array([[1, 0, -1], [0, 0, -1]], np.int8)
    skipped = mean_average_precision(scores, labels)
    assert skipped.mAP == 100.0
    assert skipped.without_positives == (1, 2)
    zeroed = mean_average_precision(scores, labels, empty_classes="zero")
    assert zeroed.mAP == pytest.approx(100 / 3)


def test_no_positive_anywhere_is_not_a_number():
    assert np.isnan(mean_average_precision([[0.5]], [[0]]).mAP)
    assert mean_average_precision([[0.5]], [[0]], empty_classes="zero").mAP == 0.0


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([[0.5, 0.1]], [[1]], "same shape"),
        ([0.5], [1], "matrices"),
        ([[float("nan")]], [[1]], "finite"),
        ([[0.5]], [[2]], "1 .positive."),
        ([[0.5]], [[0.5]], "1 .positive."),
    ],
)
def test_bad_input_is_refused(scores, labels, message):
    with pytest.raises(TagfillError, match=message):
        average_precision(scores, labels)


def test_unknown_definition_is_refused():
    with pytest.raises(TagfillError, match="eleven_point"):
        average_precision([[0.5]], [[1]], definition="trapezoid")


@pytest.mark.parametrize("definition", DEFINITIONS)
@given(case=matrices())
@settings(max_examples=60, deadline=None)
def test_weighted_equals_repeating_the_images(definition, case):
    scores, labels = case
    weights = np.random.default_rng(len(scores)).integers(0, 4, size=(len(scores), 3))
    values = WeightedAveragePrecision(scores, labels, definition=definition)(
        weights.astype(np.uint8)
    )
    for number in range(3):
        rows = np.repeat(np.arange(len(scores)), weights[:, number])
        expected = average_precision(scores[rows], labels[rows], definition=definition)
        np.testing.assert_allclose(values[number], expected, rtol=0, atol=1e-12)
