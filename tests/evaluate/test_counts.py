from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.metrics import accuracy_score, precision_recall_fscore_support
from sklearn.metrics import hamming_loss as sklearn_hamming
from tests.evaluate.hostile import matrices

from tagfill.errors import TagfillError
from tagfill.evaluate.counts import (
    at_threshold,
    count,
    exact_match,
    hamming_loss,
    precision_recall,
    top_k,
)


def sklearn_scores(labels, decided, average):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return precision_recall_fscore_support(labels, decided, average=average, zero_division=0)[
            :3
        ]


@given(case=matrices(unknown=False))
@settings(max_examples=100, deadline=None)
def test_full_labels_agree_with_scikit_learn(case):
    scores, labels = case
    if labels.shape[1] == 1:  # scikit-learn reads one column as a binary problem
        scores, labels = np.repeat(scores, 2, axis=1), np.repeat(labels, 2, axis=1)
    decided = at_threshold(scores, 0.4)
    result = precision_recall(count(decided, labels), empty_classes="zero")
    overall = (result.overall_precision, result.overall_recall, result.overall_f1)
    assert overall == pytest.approx(sklearn_scores(labels, decided, "micro"))
    macro = (result.class_precision, result.class_recall, result.class_f1_mean_of_f1)
    assert macro == pytest.approx(sklearn_scores(labels, decided, "macro"))
    assert hamming_loss(decided, labels) == pytest.approx(sklearn_hamming(labels, decided))
    assert exact_match(decided, labels) == pytest.approx(accuracy_score(labels, decided))


@given(case=matrices())
@settings(max_examples=100, deadline=None)
def test_unknown_entries_are_as_if_deleted(case):
    scores, labels = case
    decided = at_threshold(scores, 0.4)
    known = labels != -1
    counts = count(decided, labels)
    for column in range(labels.shape[1]):
        rows = known[:, column]
        truth, given_tag = labels[rows, column] == 1, decided[rows, column]
        assert counts.true_positives[column] == (truth & given_tag).sum()
        assert counts.false_positives[column] == (~truth & given_tag).sum()
        assert counts.false_negatives[column] == (truth & ~given_tag).sum()
    right = decided == (labels == 1)
    if known.any():
        assert hamming_loss(decided, labels) == pytest.approx(1 - right[known].mean())
        images = [right[n, known[n]].all() for n in range(len(labels)) if known[n].any()]
        assert exact_match(decided, labels) == pytest.approx(np.mean(images))
    else:
        assert np.isnan(hamming_loss(decided, labels))
        assert np.isnan(exact_match(decided, labels))


def test_the_two_cf1_differ_as_published():
    """A class with P 1, R 0.5 and one with P 0.5, R 1: F1 2/3 each, but CP = CR = 0.75."""
    labels = np.array([[1, 1], [1, 0], [0, 0]], np.int8)
    decided = np.array([[1, 1], [0, 1], [0, 0]], bool)
    result = precision_recall(count(decided, labels))
    assert result.class_f1_of_means == pytest.approx(0.75)
    assert result.class_f1_mean_of_f1 == pytest.approx(2 / 3)


def test_a_class_never_predicted_has_precision_zero_and_stays_in_the_mean():
    labels = np.array([[1, 1], [0, 0]], np.int8)
    decided = np.array([[1, 0], [0, 0]], bool)
    result = precision_recall(count(decided, labels))
    assert result.class_precision == 0.5
    assert result.overall_precision == 1.0


def test_empty_classes_leave_class_means_but_not_overall_precision():
    labels = np.array([[1, 0], [0, 0]], np.int8)
    decided = np.array([[1, 1], [0, 1]], bool)
    skipped = precision_recall(count(decided, labels))
    assert skipped.class_precision == skipped.class_recall == skipped.class_f1_of_means == 1.0
    assert skipped.overall_precision == pytest.approx(1 / 3)
    assert precision_recall(count(decided, labels), empty_classes="zero").class_recall == 0.5


def test_nothing_predicted_is_zero_not_an_error():
    labels = np.array([[1, 0]], np.int8)
    result = precision_recall(count(np.zeros((1, 2), bool), labels))
    assert result.overall_f1 == result.class_f1_of_means == 0.0


def test_thresholds_may_differ_by_class():
    decided = at_threshold([[0.5, 0.5]], [0.4, 0.6])
    np.testing.assert_array_equal(decided, [[True, False]])
    np.testing.assert_array_equal(at_threshold([[0.5]], 0.5), [[True]])
    with pytest.raises(TagfillError, match="2 classes"):
        at_threshold([[0.5, 0.5]], [0.1, 0.2, 0.3])


def test_top_k_with_and_without_the_threshold():
    logits = np.array([[3.0, 2.0, -1.0, -2.0], [-1.0, -2.0, -3.0, -4.0]])
    labels = np.zeros((2, 4), np.int8)
    np.testing.assert_array_equal(top_k(logits, labels, 3).sum(axis=1), [3, 3])
    both = top_k(logits, labels, 3, threshold=0.0)
    np.testing.assert_array_equal(both, [[1, 1, 0, 0], [0, 0, 0, 0]])


@given(case=matrices())
@settings(max_examples=60, deadline=None)
def test_top_k_takes_the_best_known_entries(case):
    scores, labels = case
    decided = top_k(scores, labels, 3)
    for row, state, chosen in zip(scores, labels, decided, strict=True):
        known = np.flatnonzero(state != -1)
        best = sorted(known, key=lambda column, row=row: (-row[column], column))[:3]
        assert set(np.flatnonzero(chosen)) == set(best)
