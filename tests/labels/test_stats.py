"""Figures of a label table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tagfill.labels import LabelTable
from tagfill.labels.stats import Statistics


def statistics(values) -> Statistics:
    labels = np.asarray(values)
    images = tuple(f"{row}.jpg" for row in range(labels.shape[0]))
    return Statistics.of(LabelTable(images, tuple("abcdefghij"[: labels.shape[1]]), labels))


def test_counts():
    stats = statistics([[1, 1, 0], [1, -1, 0], [0, 0, 0], [-1, -1, -1], [1, 1, -1]])
    assert (stats.images, stats.classes) == (5, ("a", "b", "c"))
    assert (stats.positives, stats.negatives, stats.unknowns) == (5, 5, 5)
    assert stats.class_positives.tolist() == [3, 2, 0]
    assert stats.class_negatives.tolist() == [1, 1, 3]
    assert stats.class_unknowns.tolist() == [1, 2, 2]
    assert stats.labels_per_image.tolist() == [2, 1, 2]
    assert stats.co_occurrence.tolist() == [[3, 2, 0], [2, 2, 0], [0, 0, 0]]
    assert (stats.confirmed_none, stats.no_known_label) == (1, 1)
    assert stats.without_positive == ("c",)
    assert stats.without_negative == ()
    assert stats.top_pairs(5) == [("a", "b", 2)]


@pytest.mark.parametrize(
    ("values", "regime"),
    [
        ([[1, 0], [0, 0]], "full"),
        ([[1], [1]], "full"),
        ([[1, -1], [0, 0]], "partial"),
        ([[-1, -1], [0, -1]], "partial"),
        ([[1, 1], [-1, 1]], "positive_only"),
        ([[1, -1], [-1, 1]], "single_positive"),
        ([[1, -1], [-1, -1]], "single_positive"),
        ([[-1, -1]], "unlabeled"),
        (np.empty((0, 2)), "unlabeled"),
    ],
)
def test_regime(values, regime):
    assert statistics(values).regime == regime


def test_pairs_are_sorted_and_limited():
    stats = statistics([[1, 1, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1]])
    assert stats.top_pairs(2) == [("b", "c", 3), ("a", "c", 2)]


@given(hnp.arrays(np.int8, (6, 4), elements=st.sampled_from([1, 0, -1])))
def test_figures_add_up(values):
    stats = statistics(values)
    assert stats.positives + stats.negatives + stats.unknowns == 24
    assert stats.labels_per_image.sum() == 6
    assert (
        np.arange(len(stats.labels_per_image)) * stats.labels_per_image
    ).sum() == stats.positives
    positive = (values == 1).astype(int)
    assert np.array_equal(stats.co_occurrence, positive.T @ positive)
