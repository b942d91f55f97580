"""k and class priors, end to end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tagfill.errors import TagfillError
from tagfill.observe import (
    k_positives_m_negatives,
    known_proportion,
    positive_proportion,
    single_positive,
)
from tagfill.priors import estimate_prior
from tagfill.priors.estimate import with_complete

VOC = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "voc2012" / "mlspl"


def scene(images=800, classes=12, seed=0):
    """Tags that stand beside one another, and features that add up what they look like."""
    draw = np.random.default_rng(seed)
    truth = (draw.random((images, classes)) < draw.uniform(0.05, 0.4, classes)).astype(np.int8)
    truth[np.arange(images), draw.integers(0, classes, images)] = 1
    looks = draw.normal(size=(classes, 40))
    features = truth @ looks + 0.7 * draw.normal(size=(images, 40))
    return features.astype(np.float32), truth


FEATURES, TRUTH = scene()
K = TRUTH.sum(1).mean()


def close_to_truth(estimate, tolerance):
    assert estimate.expected_positives == pytest.approx(K, rel=tolerance)
    assert estimate.prior.sum() == pytest.approx(estimate.expected_positives)
    assert estimate.interval[0] <= estimate.expected_positives <= estimate.interval[1]
    class_error = np.abs(estimate.prior - TRUTH.mean(0)).sum() / K
    assert class_error < 2 * tolerance


def test_full_labels_are_counted():
    estimate = estimate_prior(TRUTH)
    np.testing.assert_allclose(estimate.prior, TRUTH.mean(0))
    assert estimate.how == "counted"
    wide = 1.645 * TRUTH.sum(1).std() / len(TRUTH) ** 0.5
    assert estimate.interval == pytest.approx((K - wide, K + wide))


def test_known_share_of_entries_needs_no_features():
    close_to_truth(estimate_prior(known_proportion(TRUTH, 1, proportion=0.3)), 0.05)


def test_interval_of_known_entries_holds_the_truth_nine_times_in_ten():
    inside = 0
    for seed in range(200):
        rows = np.random.default_rng(seed).permutation(len(TRUTH))[:150]
        low, high = estimate_prior(known_proportion(TRUTH[rows], seed, proportion=0.3)).interval
        inside += low <= K <= high
    assert 165 <= inside <= 195


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_share_of_positives(share):
    observed = positive_proportion(TRUTH, 5, proportion=share)
    close_to_truth(estimate_prior(observed, features=FEATURES), 0.1)


@pytest.fixture(scope="module")
def by_features():
    """The estimate of single positives, made once."""
    return estimate_prior(single_positive(TRUTH, 5), features=FEATURES)


def test_single_positives(by_features):
    close_to_truth(by_features, 0.15)


def test_single_positives_with_drawn_negatives():
    observed = k_positives_m_negatives(TRUTH, 5, positives=1, negatives=2)
    close_to_truth(estimate_prior(observed, features=FEATURES), 0.15)


def test_scores_instead_of_features():
    observed = positive_proportion(TRUTH, 5, proportion=0.5)
    scores = np.where(TRUTH == 1, 3.0, -3.0) + 0.1 * FEATURES[:, :12]
    close_to_truth(estimate_prior(observed, scores=scores), 0.1)


def test_many_tags_with_one_written():
    """Twenty tags of forty an image."""
    draw = np.random.default_rng(0)
    traits = draw.normal(size=(2000, 5))
    truth = (traits @ draw.normal(size=(5, 40)) > 0).astype(np.int8)
    features = traits + 0.02 * draw.normal(size=traits.shape)
    estimate = estimate_prior(single_positive(truth, 3), features=features)
    assert estimate.expected_positives == pytest.approx(truth.sum(1).mean(), rel=0.35)


def test_positives_alone_are_refused():
    with pytest.raises(TagfillError, match="do not say how many tags") as refusal:
        estimate_prior(single_positive(TRUTH))
    assert "features" in refusal.value.remedy


def test_complete_images_alone_give_their_mean_and_its_percentiles():
    few = TRUTH[:10]
    estimate = estimate_prior(single_positive(TRUTH), complete=few)
    counts = few.sum(1)
    assert estimate.expected_positives == pytest.approx(counts.mean())
    assert estimate.prior.sum() == pytest.approx(counts.mean())
    draw = np.random.default_rng(0)
    means = [draw.choice(counts, 10).mean() for _ in range(4000)]
    assert estimate.interval == pytest.approx(np.percentile(means, (5, 95)), abs=0.15)


def test_complete_images_among_the_observed_are_found():
    observed = single_positive(TRUTH)
    observed[:10] = TRUTH[:10]
    estimate = estimate_prior(observed)
    assert estimate.expected_positives == pytest.approx(TRUTH[:10].sum(1).mean())


def test_complete_images_and_scores_together(by_features):
    observed, alone = single_positive(TRUTH, 5), by_features
    crowded = np.ones((4, 12), dtype=np.int8)
    crowded[:2, :3] = 0
    both = estimate_prior(observed, features=FEATURES, complete=crowded)
    assert alone.expected_positives < both.expected_positives < crowded.sum(1).mean()
    assert both.prior.max() <= 1
    assert "4 images" in both.how
    narrow = np.log(both.interval[1] / both.interval[0])
    assert narrow < np.log(alone.interval[1] / alone.interval[0])


def test_more_complete_images_weigh_more(by_features):
    doubled = np.tile(TRUTH[:100] | TRUTH[100:200], (1, 1))
    few, many = (with_complete(by_features, doubled[:count]) for count in (5, 100))
    target = doubled.sum(1).mean()
    assert abs(many.expected_positives - target) < abs(few.expected_positives - target)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"features": FEATURES[:3]}, "3 rows of features or scores for 800 images"),
        ({"complete": [[1, 0]]}, "each of the 12 classes"),
        ({"complete": -np.ones((2, 12))}, "each of the 12 classes"),
    ],
)
def test_mistakes_are_explained(arguments, complaint):
    with pytest.raises(TagfillError, match=complaint):
        estimate_prior(single_positive(TRUTH), **arguments)


def test_no_positive_at_all():
    with pytest.raises(TagfillError, match="no observed label is positive"):
        estimate_prior(np.full((9, 12), -1), features=FEATURES[:9])


def test_class_never_observed_has_no_share():
    observed = positive_proportion(TRUTH, 5, proportion=0.5)
    observed[:, 3] = -1
    assert estimate_prior(observed, features=FEATURES).prior[3] < 0.02


@pytest.mark.voc
@pytest.mark.slow
def test_voc_single_positives_within_a_fifth():
    if not VOC.is_dir():
        pytest.skip("needs ../shared/data/voc2012/mlspl")
    features = np.load(VOC / "train_features_imagenet_efficientnet_lite0_448.npy")
    truth = np.load(VOC / "formatted_train_labels.npy")
    estimate = estimate_prior(single_positive(truth), features=features)
    assert estimate.expected_positives == pytest.approx(truth.sum(1).mean(), rel=0.1)
    assert np.abs(estimate.prior - truth.mean(0)).sum() / truth.sum(1).mean() < 0.15


def test_after_a_review_complete_images_decide():
    truth = (np.random.default_rng(3).random((400, 6)) < 0.25).astype(np.int8)
    observed = np.where(truth == 1, 1, -1).astype(np.int8)
    rows = np.arange(30)
    observed[rows, rows % 6] = truth[rows, rows % 6]
    prior = estimate_prior(observed, features=truth.astype(np.float64), complete=truth[:100])
    assert prior.expected_positives == pytest.approx(truth[:100].sum(axis=1).mean())
    assert "100 images labeled in full" in prior.how
