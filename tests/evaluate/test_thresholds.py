from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from tests.evaluate.hostile import matrices
from tests.evaluate.known_truth import drawn, hidden, one_written

from tagfill.errors import TagfillError
from tagfill.evaluate import mean_average_precision
from tagfill.evaluate.arrays import sigmoid
from tagfill.evaluate.counts import at_threshold, count, precision_recall
from tagfill.evaluate.thresholds import (
    expected_counts,
    expected_mean_average_precision,
    fit_decision_rule,
    fit_thresholds,
)
from tagfill.priors import presence

ALONE = {"shrink": 0.0, "min_support": 1}


def brute_force(probabilities, labels, score):
    """The best score any threshold reaches, class by class; None without positives."""
    best = []
    for column, states in zip(probabilities.T, labels.T, strict=True):
        if not (states == 1).any():
            best.append(None)
            continue
        cuts = np.unique(column)
        counts = [count(column[:, None] >= cut, states[:, None]) for cut in cuts]
        best.append(max(score(counted) for counted in counts))
    return best


@given(case=matrices())
@settings(max_examples=80, deadline=None)
def test_no_other_threshold_has_a_higher_f1(case):
    scores, labels = case
    assume((labels == 1).any())
    probabilities = sigmoid(np.clip(scores, -9, 9)).round(9)
    fitted = fit_thresholds(probabilities, labels, **ALONE)
    reached = count(at_threshold(probabilities, fitted.values), labels).f1
    for reached_value, best in zip(
        reached, brute_force(probabilities, labels, lambda c: c.f1[0]), strict=True
    ):
        assert best is None or reached_value == pytest.approx(best)


@given(case=matrices(unknown=False))
@settings(max_examples=80, deadline=None)
def test_targets_are_reached_with_as_much_of_the_other_as_possible(case):
    scores, labels = case
    assume((labels == 1).any())
    probabilities = sigmoid(np.clip(scores, -9, 9)).round(9)
    for goal, other in (("precision", "recall"), ("recall", "precision")):
        fitted = fit_thresholds(probabilities, labels, goal=goal, target=0.75, **ALONE)
        reached = count(at_threshold(probabilities, fitted.values), labels)
        best = brute_force(
            probabilities,
            labels,
            lambda c, goal=goal, other=other: (
                getattr(c, other)[0] if getattr(c, goal)[0] >= 0.75 else -1.0
            ),
        )
        for column, most in enumerate(best):
            if most is None:
                continue
            if most < 0:
                assert column in fitted.unreached
            elif goal == "precision":
                assert reached.precision[column] >= 0.75
                assert reached.recall[column] == pytest.approx(most)
            else:
                assert reached.recall[column] >= 0.75


@pytest.mark.parametrize("goal", ["f1", "precision", "recall"])
def test_a_class_whose_images_all_score_the_same_is_taken_whole(goal):
    probabilities = sigmoid(np.full((4, 1), 0.2))
    target = None if goal == "f1" else 0.75
    fitted = fit_thresholds(probabilities, [[1], [1], [1], [0]], goal=goal, target=target, **ALONE)
    assert at_threshold(probabilities, fitted.values).all()


def test_the_threshold_lies_between_the_last_taken_and_the_first_left():
    probabilities = sigmoid(np.array([[2.0], [1.0], [-1.0], [-3.0]]))
    fitted = fit_thresholds(probabilities, [[1], [1], [0], [0]], **ALONE)
    assert fitted.values[0] == pytest.approx(0.5)


def test_rare_classes_are_drawn_toward_the_common_threshold():
    logits, truth = drawn(400, 4)
    labels = truth.copy()
    labels[:, 0] = 0
    labels[:3, 0] = 1
    probabilities = sigmoid(logits)
    own = fit_thresholds(probabilities, labels, shrink=0.0, min_support=1)
    drawn_in = fit_thresholds(probabilities, labels, shrink=20.0, min_support=5)
    assert drawn_in.values[0] == drawn_in.common
    for column in range(1, 4):
        n = drawn_in.support[column]
        odds = [np.log(t / (1 - t)) for t in (own.values[column], own.common)]
        expected = sigmoid((n * odds[0] + 20.0 * odds[1]) / (n + 20.0))
        assert drawn_in.values[column] == pytest.approx(float(expected))
    assert drawn_in.as_dict()["classes_at_common"] == 1


def test_calibrated_probabilities_say_the_best_sum_of_micro_and_macro_f1():
    draw = np.random.default_rng(0)
    probabilities = sigmoid(2 * draw.normal(size=(4000, 2)) + np.array([-0.5, -4.0]))

    def reached(thresholds):
        rates = precision_recall(expected_counts(probabilities >= thresholds, probabilities))
        return rates.overall_f1 + rates.class_f1_mean_of_f1

    fitted = fit_thresholds(probabilities, probabilities, calibrated=True)
    grid = np.linspace(0.02, 0.6, 30)
    best = max(reached(np.array([one, other])) for one in grid for other in grid)
    assert reached(fitted.values) > best - 0.002
    assert reached(fitted.values) > reached(fitted.common) + 0.01
    assert abs(fitted.values[0] - fitted.common) < abs(fitted.values[1] - fitted.common)


def test_calibrated_thresholds_do_not_follow_the_noise_of_few_labels():
    draw = np.random.default_rng(1)
    probabilities = sigmoid(2 * draw.normal(size=(300, 12)) - 3)
    labels, unseen = (draw.random((2, 300, 12)) < probabilities).astype(np.int8)
    stored = fit_thresholds(probabilities, labels, calibrated=True)
    alone = fit_thresholds(probabilities, labels, **ALONE)
    reached = [
        precision_recall(count(at_threshold(probabilities, one.values), unseen)).overall_f1
        for one in (stored, alone)
    ]
    assert reached[0] > reached[1]


def test_expected_f1_of_probable_labels_in_closed_form():
    """F1 = 2 TP / (predicted + positives), in expectation."""
    probabilities = np.array([[0.9], [0.8], [0.7], [0.6], [0.2], [0.1]])
    believed = np.array([[1.0], [0.5], [1.0], [0.5], [0.2], [np.nan]])
    fitted = fit_thresholds(probabilities, believed, **ALONE)
    assert at_threshold(probabilities, fitted.values).sum() == 4  # 6 / 7.2 against 5 / 6.2
    precise = fit_thresholds(probabilities, believed, goal="precision", target=0.8, **ALONE)
    assert at_threshold(probabilities, precise.values).sum() == 3  # 2.5 of 3
    counts = expected_counts(probabilities >= 0.5, believed)
    assert counts.true_positives == pytest.approx([3.0])
    assert counts.false_positives == pytest.approx([1.0])
    assert counts.false_negatives == pytest.approx([0.2])


@pytest.mark.parametrize("hide", [lambda truth: hidden(truth, 0.4, 0.0), one_written])
def test_thresholds_fitted_without_negatives_are_nearly_as_good(hide):
    logits, truth = drawn(3000, 14)
    tagged = truth.any(axis=1)
    logits, truth = logits[tagged], truth[tagged]
    believed = presence(logits, hide(truth)).probability
    fitted, full = fit_decision_rule(logits, believed), fit_decision_rule(logits, truth)
    reached = fitted.metrics(logits, truth)["at_fitted_thresholds"]
    best = full.metrics(logits, truth)["at_fitted_thresholds"]
    assert reached["overall_f1"] > best["overall_f1"] - 0.015
    assert fitted.expected.overall_f1 == pytest.approx(reached["overall_f1"], abs=0.06)


def test_expected_average_precision_is_the_mean_over_all_labels():
    scores, believed = np.array([[3.0], [2.0], [1.0]]), np.array([[0.9], [0.2], [0.5]])
    assert expected_mean_average_precision(scores, [[1], [0], [1]]) == pytest.approx(
        mean_average_precision(scores, [[1], [0], [1]]).mAP
    )
    hits = [0.9 * 1, 0.2 * (1 + 0.9) / 2, 0.5 * (1 + 1.1) / 3]
    expected = 100 * sum(hits) / 1.6
    assert expected_mean_average_precision(scores, believed) == pytest.approx(expected)


def test_estimates_without_negatives_come_near_the_truth():
    logits, truth = drawn(3000, 10)
    labels = hidden(truth, 0.5, 0.0)
    believed = presence(logits, labels).probability
    estimates = fit_decision_rule(logits, believed).estimated(logits, believed, labels)
    real = fit_decision_rule(logits, truth).metrics(logits, truth)["at_fitted_thresholds"]
    assert estimates["mAP"] == pytest.approx(mean_average_precision(logits, truth).mAP, abs=4)
    assert estimates["overall_precision"] == pytest.approx(real["overall_precision"], abs=0.06)
    assert estimates["recall_of_written"] == pytest.approx(real["overall_recall"], abs=0.08)


def test_decisions_raise_f1_and_lower_calibration_error():
    logits, truth = drawn(3000, 5)
    fitted = fit_decision_rule(logits[:1500], truth[:1500])
    plain = precision_recall(count(at_threshold(sigmoid(logits[1500:]), 0.5), truth[1500:]))
    metrics = fitted.metrics(logits[1500:], truth[1500:])
    assert metrics["at_fitted_thresholds"]["overall_f1"] > plain.overall_f1 + 0.02
    assert metrics["calibrated"]["expected_calibration_error"] < 0.03


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"goal": "precision"}, "a target goes"),
        ({"goal": "f1", "target": 0.5}, "a target goes"),
        ({"goal": "recall", "target": 1.5}, "not in 0 to 1"),
    ],
)
def test_mistakes(options, message):
    with pytest.raises(TagfillError, match=message):
        fit_thresholds([[0.5]], [[1]], **options)
    with pytest.raises(TagfillError, match="fitted to probabilities"):
        fit_thresholds([[5.0]], [[1]])
