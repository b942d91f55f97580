from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.metrics import brier_score_loss
from tests.evaluate.hostile import matrices

from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import sigmoid
from tagfill.evaluate.calibration import (
    brier_score,
    classwise_calibration_error,
    expected_calibration_error,
    reliability,
)


def slow_error(probabilities, truth, bins):
    error = 0.0
    for number in range(bins):
        low, high = number / bins, (number + 1) / bins
        inside = (probabilities >= low) & ((probabilities < high) | (number == bins - 1))
        if inside.any():
            error += inside.mean() * abs(probabilities[inside].mean() - truth[inside].mean())
    return error


@given(case=matrices())
@settings(max_examples=80, deadline=None)
def test_equals_the_slow_definition_on_known_entries(case):
    scores, labels = case
    probabilities = sigmoid(scores)
    known = labels != -1
    if not known.any():
        assert np.isnan(expected_calibration_error(probabilities, labels))
        return
    flat, truth = probabilities[known], (labels[known] == 1).astype(float)
    assert expected_calibration_error(probabilities, labels, bins=8) == pytest.approx(
        slow_error(flat, truth, 8)
    )
    assert brier_score(probabilities, labels) == pytest.approx(
        brier_score_loss(truth, flat, pos_label=1)
    )


def test_classwise_is_the_pooled_error_of_one_column():
    rng = np.random.default_rng(0)
    probabilities = rng.random((200, 3))
    labels = rng.integers(-1, 2, size=(200, 3)).astype(np.int8)
    errors = classwise_calibration_error(probabilities, labels)
    for column in range(3):
        single = slice(column, column + 1)
        assert errors[column] == expected_calibration_error(
            probabilities[:, single], labels[:, single]
        )


def test_true_probabilities_are_calibrated_and_halved_ones_are_not():
    rng = np.random.default_rng(1)
    probabilities = rng.random((20_000, 2))
    labels = (rng.random(probabilities.shape) < probabilities).astype(np.int8)
    assert expected_calibration_error(probabilities, labels) < 0.02
    assert expected_calibration_error(probabilities / 2, labels) > 0.2


def test_reliability_shows_the_bins():
    result = reliability([[0.05], [0.15], [1.0]], [[0], [1], [1]], bins=2)
    np.testing.assert_array_equal(result.entries, [2, 1])
    np.testing.assert_allclose(result.confidence, [0.1, 1.0])
    np.testing.assert_allclose(result.frequency, [0.5, 1.0])


def test_logits_are_refused():
    with pytest.raises(TagfillError, match="probabilities"):
        brier_score([[2.5]], [[1]])


def test_sigmoid_is_stable_and_keeps_small_probabilities_apart():
    values = sigmoid([-700.0, -40.0, 0.0, 700.0])
    assert 0 < values[0] < values[1] < 1e-17
    assert values[2] == 0.5
    assert values[3] == 1.0
