from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.evaluate.known_truth import drawn, hidden, one_written

from tagfill.errors import TagfillError
from tagfill.evaluate.counts import at_threshold, count, precision_recall
from tagfill.evaluate.labeling import Labeling, estimate_labeling, writing_chance


def test_full_labels_are_certain():
    logits, truth = drawn(50)
    labeling = estimate_labeling(logits, truth)
    assert (labeling.regime, labeling.positive, labeling.negative) == ("full", 1.0, 1.0)


def test_entries_known_at_random_are_taken_as_they_are():
    logits, truth = drawn()
    labeling = estimate_labeling(logits, hidden(truth, 0.3, 0.3))
    assert labeling.regime == "partial"
    assert labeling.positive == labeling.negative == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize(("positive", "negative"), [(0.7, 0.1), (0.2, 0.6)])
def test_different_rates_are_found(positive, negative):
    logits, truth = drawn()
    labeling = estimate_labeling(logits, hidden(truth, positive, negative))
    assert labeling.regime == "uneven"
    assert labeling.positive == pytest.approx(positive, abs=0.03)
    assert labeling.negative == pytest.approx(negative, abs=0.02)


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.9])
def test_the_rate_of_positives_is_found_without_a_negative(rate):
    logits, truth = drawn()
    labeling = estimate_labeling(logits, hidden(truth, rate, 0.0))
    assert labeling.regime == "positive_only"
    assert labeling.rate == pytest.approx(rate, abs=0.04)


def test_one_positive_an_image_is_a_regime_of_its_own():
    logits, truth = drawn(classes=14)
    labels = one_written(truth)
    labeling = estimate_labeling(logits, labels)
    assert labeling.regime == "single_positive"
    assert labeling.rate == pytest.approx((labels == 1).sum() / truth.sum(), abs=0.04)
    assert not labeling.positive[(labels == -1).all(axis=1)].any()


def test_images_nobody_tagged_say_nothing_of_single_positives():
    logits, truth = drawn()
    labels = one_written(truth)
    tagged = (labels == 1).any(axis=1)
    some = estimate_labeling(logits[tagged], labels[tagged])
    everything = estimate_labeling(logits, labels)
    assert everything.rate == pytest.approx(some.rate)


def test_negatives_drawn_beside_single_positives():
    logits, truth = drawn(classes=8)
    has_both = (truth.sum(axis=1) > 0) & (truth.sum(axis=1) < 8)
    logits, truth = logits[has_both], truth[has_both]
    labels = one_written(truth)
    negative = ((truth == 0) * np.random.default_rng(2).random(truth.shape)).argmax(axis=1)
    labels[np.arange(len(labels)), negative] = 0
    labeling = estimate_labeling(logits, labels)
    assert labeling.regime == "single_positive"
    assert labeling.negative == pytest.approx(len(labels) / (truth == 0).sum(), abs=0.02)


def test_writing_chance_equals_the_sum_over_all_outcomes():
    probabilities = np.array([[0.2, 0.9, 0.5, 0.0]])
    for column in range(4):
        others = np.delete(probabilities[0], column)
        expected = sum(
            np.prod(np.where(present, others, 1 - others)) / (1 + sum(present))
            for present in product((False, True), repeat=3)
        )
        assert writing_chance(probabilities)[0, column] == pytest.approx(expected)


def test_expected_counts_are_counts_when_everything_is_known():
    logits, truth = drawn(200)
    decided = at_threshold(logits, 1.0)
    ours, plain = Labeling("full", 1.0, 1.0, 1.0).counts(decided, truth), count(decided, truth)
    for name in ("true_positives", "false_positives", "false_negatives"):
        np.testing.assert_allclose(getattr(ours, name), getattr(plain, name))


@pytest.mark.parametrize("hide", [lambda truth: hidden(truth, 0.4, 0.0), one_written])
def test_expected_metrics_come_near_the_real_ones_without_a_negative(hide):
    logits, truth = drawn(3000, 14)
    labels = hide(truth)
    labeled = (labels == 1).any(axis=1) if hide is one_written else slice(None)
    logits, truth, labels = logits[labeled], truth[labeled], labels[labeled]
    decided = at_threshold(logits, 1.2)
    labeling = estimate_labeling(logits, labels)
    expected = precision_recall(labeling.counts(decided, labels))
    real = precision_recall(count(decided, truth))
    assert expected.overall_precision == pytest.approx(real.overall_precision, abs=0.04)
    assert expected.overall_recall == pytest.approx(real.overall_recall, abs=0.04)


def test_a_known_rate_is_used_as_it_is():
    logits, truth = drawn(100)
    assert estimate_labeling(logits, hidden(truth, 0.5, 0.0), rate=0.25).positive == 0.25


@pytest.mark.parametrize(
    ("labels", "rate", "message"),
    [
        ([[-1, 0]], None, "without a positive"),
        ([[1, -1]], 1.5, "not in 0 to 1"),
        ([[1, 0]], 0.5, "positive-only"),
    ],
)
def test_mistakes(labels, rate, message):
    with pytest.raises(TagfillError, match=message):
        estimate_labeling([[0.0, 1.0]], labels, rate=rate)
