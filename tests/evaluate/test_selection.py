from __future__ import annotations

import numpy as np
import pytest

from tagfill.errors import TagfillError
from tagfill.evaluate.precision import mean_average_precision
from tagfill.evaluate.selection import CRITERIA, choose_criterion


def truth_and_scores(images=3000, classes=5, signal=1.0, seed=0):
    rng = np.random.default_rng(seed)
    labels = (rng.random((images, classes)) < 0.15).astype(np.int8)
    return labels, rng.normal(size=labels.shape) + signal * labels


def hide(labels, chance, *, negatives):
    """Keep each positive, and each negative if wanted, with the given chance."""
    kept = np.random.default_rng(1).random(labels.shape) < chance
    return np.where(kept & ((labels == 1) | negatives), labels, -1).astype(np.int8)


def test_full_labels_are_evaluated_by_map():
    labels, scores = truth_and_scores()
    criterion = choose_criterion(labels)
    assert criterion.name == "mAP"
    assert criterion.score(scores, labels) == mean_average_precision(scores, labels).mAP


def test_partial_labels_are_evaluated_on_known_entries():
    labels, scores = truth_and_scores()
    observed = hide(labels, 0.5, negatives=True)
    criterion = choose_criterion(observed)
    assert criterion.name == "known_mAP"
    assert "5 of 5" in criterion.why
    full = mean_average_precision(scores, labels).mAP
    assert criterion.score(scores, observed) == pytest.approx(full, abs=3)


def test_known_map_leaves_out_classes_that_cannot_be_wrong():
    """Without a known negative a class would read 100 whatever the model does."""
    labels = np.array([[1, 1], [0, 1], [-1, -1]], np.int8)
    scores = np.array([[0.1, 0.5], [0.9, 0.5], [0.5, 0.5]])
    assert CRITERIA["known_mAP"](scores, labels) == 50.0


def test_positives_alone_are_evaluated_with_unknown_as_negative():
    labels, scores = truth_and_scores()
    observed = hide(labels, 0.3, negatives=False)
    criterion = choose_criterion(observed)
    assert criterion.name == "observed_mAP"
    assumed = mean_average_precision(scores, np.where(observed == 1, 1, 0)).mAP
    assert criterion.score(scores, observed) == assumed


def test_a_few_known_negatives_do_not_make_it_partial():
    labels, _ = truth_and_scores()
    observed = hide(labels, 0.3, negatives=False)
    observed[np.flatnonzero(labels[:, 0] == 0)[0], 0] = 0
    assert choose_criterion(observed).name == "observed_mAP"


def test_observed_map_is_the_true_one_times_the_chance_of_observation():
    labels, scores = truth_and_scores(images=20_000)
    observed = hide(labels, 0.4, negatives=False)
    full = mean_average_precision(scores, labels).mAP
    assert CRITERIA["observed_mAP"](scores, observed) == pytest.approx(0.4 * full, rel=0.05)


@pytest.mark.parametrize("name", ["observed_mAP", "observed_reciprocal_rank"])
def test_criteria_without_negatives_prefer_the_better_model(name):
    labels, better = truth_and_scores(signal=2.0)
    _, worse = truth_and_scores(signal=1.0)
    observed = hide(labels, 0.3, negatives=False)
    criterion = choose_criterion(observed, name=name)
    assert criterion.score(better, observed) > criterion.score(worse, observed)


def test_reciprocal_rank_by_hand():
    """Rank 2 of 3; the two observed positives of image 2 do not compete: ranks 1 and 2."""
    labels = np.array([[1, -1, -1], [1, 1, -1], [-1, -1, -1]], np.int8)
    scores = np.array([[0.5, 0.9, 0.1], [0.9, 0.3, 0.4], [0.1, 0.2, 0.3]])
    value = CRITERIA["observed_reciprocal_rank"](scores, labels)
    assert value == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)


def test_reciprocal_rank_counts_ties_against_the_model():
    labels = np.array([[1, -1, -1]], np.int8)
    assert CRITERIA["observed_reciprocal_rank"](np.zeros((1, 3)), labels) == pytest.approx(1 / 3)


def test_without_positives_there_is_nothing_to_evaluate_with():
    with pytest.raises(TagfillError, match="no positive"):
        choose_criterion(np.array([[0, -1]], np.int8))


@pytest.mark.parametrize(
    ("name", "message"),
    [("mAP", "every entry known"), ("known_mAP", "known negatives"), ("loss", "observed_mAP")],
)
def test_a_named_criterion_that_does_not_fit_is_refused(name, message):
    with pytest.raises(TagfillError, match=message):
        choose_criterion(np.array([[1, -1]], np.int8), name=name)


def test_a_named_criterion_is_taken():
    labels, _ = truth_and_scores()
    assert choose_criterion(labels, name="observed_mAP").why == "named by the user"
