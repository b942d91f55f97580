from __future__ import annotations

import doctest
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_classifier_multioutput, parametrize_with_checks
from tests.quick import quick_choices

from tagfill.evaluate import mean_average_precision
from tagfill.sklearn import IncompleteLabelClassifier

pytestmark = pytest.mark.usefixtures("one_thread")

EPOCHS = IncompleteLabelClassifier("em", learning_rate=0.05)
"""The checks train on two to ten features, which needs a larger learning rate than a thousand."""
DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture(scope="module")
def data():
    """Features from which five tags can be read off, and one positive known for each row."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(300, 12))
    logits = X @ draw.normal(size=(12, 5))
    truth = (logits > 2).astype(np.int8)
    truth[np.arange(300), logits.argmax(1)] = 1
    Y = np.full_like(truth, -1)
    for row, labels in enumerate(truth):
        Y[row, draw.choice(np.flatnonzero(labels))] = 1
    return X, Y, truth


@parametrize_with_checks([IncompleteLabelClassifier(), EPOCHS])
def test_scikit_learn_checks(estimator, check):
    with quick_choices():
        check(estimator)


def test_scikit_learn_check_of_several_outputs():
    with quick_choices():
        check_classifier_multioutput("IncompleteLabelClassifier", IncompleteLabelClassifier())


def test_learns_from_single_positives(data):
    X, Y, truth = data
    model = IncompleteLabelClassifier()
    learned = mean_average_precision(
        model.fit(X[:200], Y[:200]).predict_proba(X[200:]), truth[200:]
    )
    assert learned.mAP > 85
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]


def test_default_is_deterministic_and_calibrated(data):
    X, _, truth = data
    first, again = (
        IncompleteLabelClassifier(random_state=0).fit(X[:200], truth[:200]) for _ in range(2)
    )
    assert np.array_equal(first.coef_, again.coef_)
    expected = first.predict_proba(X[200:]).sum()
    assert expected == pytest.approx(truth[200:].sum(), rel=0.15)


def test_default_is_no_worse_than_logistic_regression():
    X, Y = make_multilabel_classification(600, 20, n_classes=5, random_state=0)
    draw = np.random.default_rng(0)
    for known in (1.0, 0.4):
        labels = np.where(draw.random(Y.shape) < known, Y, -1)
        ours = IncompleteLabelClassifier().fit(X[:300], labels[:300]).predict_proba(X[300:])
        theirs = np.zeros_like(ours)
        for column in range(5):
            rows = np.flatnonzero(labels[:300, column] >= 0)
            model = LogisticRegression(max_iter=2000).fit(X[rows], labels[rows, column])
            theirs[:, column] = model.predict_proba(X[300:])[:, 1]
        assert (
            mean_average_precision(ours, Y[300:]).mAP
            > mean_average_precision(theirs, Y[300:]).mAP - 1.0
        )


def test_same_seed_same_weights_and_torch_is_left_alone(data):
    X, Y, _ = data
    before = torch.get_rng_state()
    first = IncompleteLabelClassifier("em", epochs=2, random_state=3).fit(X, Y)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(99)
    same = clone(first).fit(X, Y)
    other = clone(first).set_params(random_state=4).fit(X, Y)
    assert np.array_equal(first.coef_, same.coef_)
    assert not np.array_equal(first.coef_, other.coef_)


def test_pipeline_grid_search_and_pickle(data):
    X, Y, truth = data
    pipeline = make_pipeline(
        StandardScaler(), IncompleteLabelClassifier("em", epochs=5, random_state=0)
    )
    grid = {
        "incompletelabelclassifier__learning_rate": [1e-5, 0.02],
        "incompletelabelclassifier__method_settings": [{"alpha": 0.1}],
    }
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, Y)
    assert search.best_params_["incompletelabelclassifier__learning_rate"] == 0.02
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    again = pickle.loads(pickle.dumps(search))
    assert np.array_equal(search.predict_proba(X), again.predict_proba(X))
    assert search.best_estimator_.score(X, truth) > 0.8


def test_score_counts_known_entries_only(data):
    X, _, truth = data
    model = IncompleteLabelClassifier(epochs=3, random_state=0).fit(X, truth)
    hidden = np.where(np.random.default_rng(1).random(truth.shape) < 0.5, truth, -1)
    expected = mean_average_precision(model.decision_function(X), hidden).mAP / 100
    assert model.score(X, hidden) == pytest.approx(expected)
    assert model.score(X, hidden) != model.score(X, truth)


@pytest.mark.parametrize("method", ["auto", "em", "role", "em_apl"])
def test_estimates_cover_every_row_and_keep_what_is_known(data, method):
    X, Y, truth = data
    model = IncompleteLabelClassifier(
        method, epochs=6, learning_rate=0.02, validation_fraction=0.2, random_state=0
    )
    estimates = model.fit(X, Y).estimates_
    assert estimates.shape == Y.shape
    assert (estimates[Y == 1] == 1).all()
    unknown = Y == -1
    assert ((estimates >= 0) & (estimates <= 1)).all()
    assert (
        estimates[unknown & (truth == 1)].mean() > estimates[unknown & (truth == 0)].mean() + 0.05
    )


def test_early_stopping_keeps_the_best_epoch(data):
    X, _, truth = data
    model = IncompleteLabelClassifier(
        "em", epochs=60, learning_rate=0.5, validation_fraction=0.3, patience=1, random_state=0
    ).fit(X, truth)
    assert model.n_iter_ < 60
    assert model.n_iter_ == model.best_epoch_ + 2


def test_names_of_columns():
    X = pa.table({"warm": [0.0, 1.0, 0.2, 0.9], "wet": [1.0, 0.0, 0.8, 0.1]})
    Y = pa.table({"rain": [1, 0, -1, 0], "sun": [-1, 1, 0, 1]})
    model = IncompleteLabelClassifier(epochs=1).fit(X, Y)
    assert model.feature_names_in_.tolist() == ["warm", "wet"]
    assert model.classes_.tolist() == ["rain", "sun"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename_columns(["wet", "warm"]))


def test_threshold(data):
    X, _, truth = data
    model = IncompleteLabelClassifier(epochs=2, random_state=0).fit(X, truth)
    few = model.set_params(threshold=0.9).predict(X)
    assert np.array_equal(few, model.predict_proba(X) >= 0.9)


@pytest.mark.parametrize(
    ("settings", "label", "message"),
    [
        ({}, 2, "1 \\(positive\\), 0 \\(negative\\) and -1 \\(unknown\\)"),
        ({"method": "nonsense"}, 1, "unknown method"),
        ({"method": "em", "method_settings": {"beta": 1}}, 1, "no setting 'beta'"),
        ({"method": "boostlu"}, 1, "needs feature maps"),
        ({"method": "iu"}, 1, "observed negatives"),
        ({}, -1, "no observed label is positive"),
    ],
)
def test_wrong_input_is_a_value_error(settings, label, message):
    X, Y = np.eye(4), np.full((4, 3), -1)
    Y[:, 1] = label
    with pytest.raises(ValueError, match=message):
        IncompleteLabelClassifier(**settings).fit(X, Y)


def test_examples_of_the_page():
    results = doctest.testfile(str(DOCS / "sklearn.md"), module_relative=False)
    assert results.attempted > 0
    assert results.failed == 0


def test_errors_name_arguments() -> None:
    features, labels = np.zeros((40, 3)), np.where(np.eye(40, 2), 1, -1)
    with pytest.raises(ValueError, match=r"set a shorter `method\.warmup`"):
        IncompleteLabelClassifier("em_apl", epochs=1).fit(features, labels)
