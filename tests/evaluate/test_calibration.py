from __future__ import annotations

import functools
import json

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from tests.evaluate.known_truth import BIAS, SLOPE, drawn, hidden, one_written

from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import sigmoid
from tagfill.evaluate.calibration import (
    KINDS,
    apply_calibration,
    expected_calibration_error,
    fit_calibration,
)
from tagfill.priors import presence, written


class Scorer(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose only feature is its score."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def by_sklearn(method, logits, truth):
    scorer = Scorer().fit(logits, truth)
    model = CalibratedClassifierCV(FrozenEstimator(scorer), method=method)
    return model.fit(logits[:, None], truth).predict_proba(logits[:, None])[:, 1]


def test_platt_is_logistic_regression_on_each_class_when_nothing_is_shrunk():
    logits, truth = drawn(1000, 3)
    fitted = fit_calibration(logits, truth, shrink=0)
    for column in range(3):
        model = LogisticRegression(C=np.inf, tol=1e-8).fit(logits[:, [column]], truth[:, column])
        assert fitted["slope"][column] == pytest.approx(model.coef_[0, 0], rel=1e-3)
        assert fitted["bias"][column] == pytest.approx(model.intercept_[0], rel=1e-3)


@pytest.mark.parametrize(
    ("kind", "method", "tolerance"),
    [("platt", "sigmoid", 2e-3), ("temperature", "temperature", 2e-3)],
)
def test_agrees_with_scikit_learns_calibration(kind, method, tolerance):
    if method == "temperature":
        pytest.importorskip("sklearn", minversion="1.8")
    logits, truth = drawn(4000, 1)
    ours = apply_calibration(logits, fit_calibration(logits, truth, kind=kind, shrink=0))[:, 0]
    theirs = by_sklearn(method, logits[:, 0], truth[:, 0])
    assert np.abs(ours - theirs).max() < tolerance


def test_isotonic_passes_through_the_steps_of_scikit_learns():
    logits, truth = drawn(500, 1)
    fitted = fit_calibration(logits, truth, kind="isotonic")
    theirs = IsotonicRegression().fit(logits[:, 0], truth[:, 0])
    np.testing.assert_allclose(theirs.predict(fitted["knots"][0]), fitted["values"][0], atol=1e-9)
    assert (np.diff(fitted["knots"][0]) > 0).all()
    assert (np.diff(fitted["values"][0]) > 0).all()
    assert set(np.round(theirs.y_thresholds_, 9)) == set(np.round(fitted["values"][0], 9))


def test_scores_that_say_nothing_give_the_share_of_positives():
    fitted = fit_calibration(np.zeros((8, 1)), [[1]] * 2 + [[0]] * 6, shrink=0)
    assert apply_calibration([[0.0]], fitted)[0, 0] == pytest.approx(0.25, abs=1e-4)


@pytest.mark.parametrize("chance", [0.3, 0.8])
def test_unknown_entries_at_random_are_left_out(chance):
    logits, truth = drawn(2000, 1)
    labels = hidden(truth, chance, chance)
    known = labels[:, 0] != -1
    with_unknown = fit_calibration(logits, labels)
    without = fit_calibration(logits[known], labels[known])
    assert with_unknown["slope"] == pytest.approx(without["slope"], rel=1e-3)
    assert with_unknown["bias"] == pytest.approx(without["bias"], rel=1e-3)


REGIMES = {
    "full": lambda truth: truth,
    "random": lambda truth: hidden(truth, 0.4, 0.4),
    "uneven": lambda truth: hidden(truth, 0.6, 0.1),
    "positives": lambda truth: hidden(truth, 0.5, 0.0),
    "single": one_written,
}


@functools.cache
def believed_in(regime):
    """Scores, truth and believed labels of a regime, worked out once."""
    logits, truth = drawn(3000, 14)
    labels = REGIMES[regime](truth)
    tagged = truth.any(axis=1) | (regime != "single")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(written, "LOOKALIKE", 0.0)  # these tags are independent
        believed = presence(logits[tagged], labels[tagged]).probability
    return logits[tagged], truth[tagged], believed


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("kind", ["platt", "isotonic"])
def test_the_truth_is_recovered_in_every_regime(regime, kind):
    logits, truth, believed = believed_in(regime)
    fitted = fit_calibration(logits, believed, kind=kind)
    probabilities = apply_calibration(logits, fitted)
    assert expected_calibration_error(probabilities, truth) < 0.04
    if kind == "platt" and regime != "single":
        assert np.mean(fitted["slope"]) == pytest.approx(SLOPE, abs=0.15)
        assert np.mean(fitted["bias"]) == pytest.approx(BIAS, abs=0.2)


def test_missing_positives_push_uncorrected_probabilities_down_by_their_rate():
    logits, truth = drawn(6000, 5)
    labels = hidden(truth, 0.5, 0.0)
    as_negatives = np.where(labels == 1, 1, 0)
    plain = apply_calibration(logits, fit_calibration(logits, as_negatives))
    believed = presence(logits, labels).probability
    corrected = apply_calibration(logits, fit_calibration(logits, believed))
    assert plain.sum() / truth.sum() == pytest.approx(0.5, abs=0.02)
    assert corrected.sum() / truth.sum() == pytest.approx(1.0, abs=0.05)


def test_a_rare_class_stays_near_the_line_of_all():
    logits, truth = drawn(2000, 4)
    labels = truth.copy()
    labels[6:, 0] = -1
    pooled = fit_calibration(logits[:, 1:], truth[:, 1:], shrink=1e9)
    fitted = fit_calibration(logits, labels)
    assert fitted["slope"][0] == pytest.approx(pooled["slope"][0], rel=0.15)
    assert abs(fitted["bias"][0] - pooled["bias"][0]) < 0.5
    stepwise = fit_calibration(logits, labels, kind="isotonic")
    assert len(stepwise["knots"][0]) > len(stepwise["knots"][1]) > 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_scores_is_kept_and_json_holds_the_map(kind):
    logits, truth = drawn(400, 2)
    truth[:, 1] = 1 - truth[:, 1]  # a class whose scores are upside down
    fitted = json.loads(json.dumps(fit_calibration(logits, truth, kind=kind)))
    rising = np.sort(logits, axis=0)
    probabilities = apply_calibration(rising, fitted)
    assert (np.diff(probabilities, axis=0) >= 0).all()
    assert ((probabilities >= 0) & (probabilities <= 1)).all()


def test_without_a_calibration_it_is_the_sigmoid():
    np.testing.assert_allclose(apply_calibration([[0.3, -2.0]], None), sigmoid([[0.3, -2.0]]))


@pytest.mark.parametrize(
    ("calibration", "message"),
    [
        ({"kind": "magic"}, "unknown calibration 'magic'"),
        ({"kind": "platt", "slope": [1.0, 1.0]}, "bias do not fit 2 classes"),
        ({"kind": "isotonic", "knots": [[0.0]], "values": [[0.5]]}, "do not fit 2 classes"),
    ],
)
def test_a_damaged_calibration_is_refused(calibration, message):
    with pytest.raises(TagfillError, match=message):
        apply_calibration([[0.0, 1.0]], calibration)
