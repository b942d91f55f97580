"""Estimators against brute force and data that fits their assumptions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logit

from tagfill.observe import positive_proportion, single_positive
from tagfill.priors.estimators import (
    best_bin,
    chance_of_writing,
    count_known,
    elkan_noto,
    labeled_share,
    presence,
    scaled,
    single_positive_prior,
)


def test_count_among_known_entries():
    observed = np.array([[1, -1, -1], [0, 0, -1], [1, 1, -1]], dtype=np.int8)
    assert count_known(observed) == pytest.approx([2 / 3, 1 / 2, 3 / 5])


def test_chance_of_writing_against_all_label_sets():
    probability = np.array([[0.9, 0.3, 0.6, 0.05]])
    expected = np.zeros(4)
    for c in range(4):
        others = [j for j in range(4) if j != c]
        for bits in itertools.product((0, 1), repeat=3):
            weight = np.prod(
                [
                    probability[0, j] if b else 1 - probability[0, j]
                    for j, b in zip(others, bits, strict=True)
                ]
            )
            expected[c] += weight / (1 + sum(bits))
    assert chance_of_writing(probability)[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("q", "p"),
    [([1.0, 0.0, 0.0], [1, 0, 0]), ([0.5, 0.5, 0.0], [1, 1, 0]), ([0.1, 0.0, 0.0], [0.1, 0, 0])],
)
def test_presence_of_sure_tags(q, p):
    assert presence(np.array([q]))[0] == pytest.approx(p, abs=0.05)


def test_presence_inverts_writing():
    p = np.random.default_rng(0).uniform(0, 0.7, (50, 6))
    q = p * chance_of_writing(p)
    assert presence(q) == pytest.approx(p, abs=0.02)


def test_single_positive_prior_from_scores_that_show_the_truth():
    """Images with one to four tags; the score of a tag is one by their number."""
    draw = np.random.default_rng(0)
    truth = np.zeros((3000, 10), dtype=np.int8)
    for row in truth:
        row[draw.permutation(10)[: draw.integers(1, 5)]] = 1
    q = np.clip(truth / truth.sum(1, keepdims=True), 1e-9, 1 - 1e-9)
    prior = single_positive_prior(single_positive(truth, 1), logit(q))
    assert prior.sum() == pytest.approx(truth.sum(1).mean(), rel=0.03)
    assert prior == pytest.approx(truth.mean(0), rel=0.1)


def test_single_positive_prior_without_a_sure_entry_takes_the_surest():
    """Scores too faint for any entry to seem sure, but in the right order."""
    draw = np.random.default_rng(0)
    truth = (draw.random((4000, 30)) < 0.5).astype(np.int8)
    faint = logit(np.where(truth == 1, 0.001, 0.0001))
    prior = single_positive_prior(single_positive(truth, 1), faint)
    assert prior.sum() == pytest.approx(15, rel=0.1)


def test_scaled_keeps_shares_within_one():
    assert scaled(np.array([0.2, 0.1]), 0.6) == pytest.approx([0.4, 0.2])
    assert scaled(np.array([0.8, 0.1, 0.1]), 1.4) == pytest.approx([1.0, 0.2, 0.2])
    assert scaled(np.array([0.5, 0.5]), 2.0) == pytest.approx([1, 1])


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_labeled_share_from_scores_that_show_the_truth(share):
    draw = np.random.default_rng(1)
    truth = (draw.random((3000, 6)) < [0.5, 0.3, 0.2, 0.1, 0.05, 0.02]).astype(np.int8)
    observed = positive_proportion(truth, 2, proportion=share)
    scores = 6 * truth + draw.normal(size=truth.shape)
    assert labeled_share(observed, scores) == pytest.approx(share, rel=0.08)


def test_labeled_share_without_positives_is_one():
    assert labeled_share(np.full((3, 2), -1, dtype=np.int8), np.zeros((3, 2))) == 1


def test_per_class_estimators_on_easy_data():
    draw = np.random.default_rng(3)
    truth = (draw.random((4000, 2)) < 0.4).astype(np.int8)
    observed = positive_proportion(truth, 4, proportion=0.5)
    probability = np.where(truth == 1, 0.5, 1e-4)
    assert elkan_noto(observed, logit(probability)) == pytest.approx([0.4, 0.4], rel=0.08)
    scores = 6 * truth + draw.normal(size=truth.shape)
    assert best_bin(observed, scores) == pytest.approx([0.4, 0.4], rel=0.1)
