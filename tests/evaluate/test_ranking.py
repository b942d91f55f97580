from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn import metrics
from tests.evaluate.hostile import matrices

from tagfill.evaluate.ranking import (
    at_k,
    coverage_error,
    image_ranking,
    label_ranking_average_precision,
    ranking_loss,
)

PAIRS = [
    (ranking_loss, metrics.label_ranking_loss),
    (coverage_error, metrics.coverage_error),
    (label_ranking_average_precision, metrics.label_ranking_average_precision_score),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
@given(case=matrices(unknown=False))
@settings(max_examples=80, deadline=None)
def test_full_labels_agree_with_scikit_learn(ours, theirs, case):
    scores, labels = case
    if labels.shape[1] == 1:  # scikit-learn refuses a single label
        scores, labels = np.repeat(scores, 2, axis=1), np.repeat(labels, 2, axis=1)
    assert ours(scores, labels, undefined_images="perfect") == pytest.approx(theirs(labels, scores))


@pytest.mark.parametrize(
    ("field", "theirs", "needs_negative"),
    [
        ("loss", metrics.label_ranking_loss, True),
        ("coverage", metrics.coverage_error, False),
        ("average_precision", metrics.label_ranking_average_precision_score, True),
    ],
)
@given(case=matrices())
@settings(max_examples=60, deadline=None)
def test_unknown_entries_are_as_if_the_class_did_not_exist(field, theirs, needs_negative, case):
    scores, labels = case
    values = getattr(image_ranking(scores, labels), field)
    for value, row, state in zip(values, scores, labels, strict=True):
        known = state != -1
        defined = (state == 1).any() and ((state == 0).any() or not needs_negative)
        if not defined:
            assert np.isnan(value)
        elif known.sum() == 1:
            assert value == 1  # one positive alone: only its coverage is defined
        else:
            assert value == pytest.approx(theirs(state[None, known], row[None, known]))


def test_images_that_cannot_be_scored_are_skipped_by_default():
    scores = np.array([[0.1, 0.9], [0.9, 0.1]])
    labels = np.array([[1, 0], [0, 0]], np.int8)
    assert ranking_loss(scores, labels) == 1.0
    assert ranking_loss(scores, labels, undefined_images="perfect") == 0.5
    assert np.isnan(ranking_loss(scores, np.full((2, 2), -1)))


def slow_at_k(scores, labels, k):
    precision, recall, hit = [], [], []
    for row, state in zip(scores, labels, strict=True):
        known = [column for column in range(len(row)) if state[column] != -1]
        best = sorted(known, key=lambda column, row=row: (-row[column], column))[:k]
        hits = sum(state[column] == 1 for column in best)
        if best:
            precision.append(hits / len(best))
        if (state == 1).any():
            recall.append(hits / (state == 1).sum())
            hit.append(float(hits > 0))
    return [np.mean(values) if values else np.nan for values in (precision, recall, hit)]


@given(case=matrices())
@settings(max_examples=80, deadline=None)
def test_metrics_at_k_equal_the_slow_definition(case):
    scores, labels = case
    for k, rates in at_k(scores, labels, (1, 3, 5)).items():
        actual = [rates.precision, rates.recall, rates.hit]
        np.testing.assert_allclose(actual, slow_at_k(scores, labels, k))


def test_blocks_of_images_change_nothing(monkeypatch):
    rng = np.random.default_rng(2)
    scores, labels = rng.random((50, 7)), rng.integers(-1, 2, size=(50, 7)).astype(np.int8)
    whole, whole_at = image_ranking(scores, labels), at_k(scores, labels, (2,))
    monkeypatch.setattr("tagfill.evaluate.arrays._ENTRIES_IN_A_BLOCK", 70)
    np.testing.assert_array_equal(image_ranking(scores, labels).loss, whole.loss)
    assert at_k(scores, labels, (2,)) == whole_at
