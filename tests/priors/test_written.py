"""How labels were written, on scores whose true probabilities are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.evaluate.known_truth import drawn, hidden, one_written

from tagfill.errors import TagfillError
from tagfill.priors import how_written, presence, written
from tagfill.priors.regime import labeled_in_full


@pytest.fixture(autouse=True)
def independent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tags of these images are independent, which those of photos are not quite."""
    monkeypatch.setattr(written, "LOOKALIKE", 0.0)


def up_to_two(truth, seed=3):
    """One or two of the tags of every image, as the writer felt."""
    rng = np.random.default_rng(seed)
    rank = (np.where(truth == 1, rng.random(truth.shape), -1.0)).argsort(axis=1)[:, ::-1]
    rank = rank.argsort(axis=1)
    most = rng.integers(1, 3, (len(truth), 1))
    return np.where((truth == 1) & (rank < most), 1, -1).astype(np.int8)


def tagged(images=3000, classes=10):
    logits, truth = drawn(images, classes)
    some = truth.any(axis=1)
    return logits[some], truth[some]


def test_full_labels_are_certain():
    logits, truth = drawn(200)
    estimate = presence(logits, truth)
    assert estimate.how.kind == "full"
    assert estimate.share_written == 1.0
    np.testing.assert_array_equal(estimate.probability, truth)


@pytest.mark.parametrize(
    ("positive", "negative"), [(0.3, 0.3), (0.7, 0.1), (0.2, 0.6), (0.5, 0.0), (0.9, 0.0)]
)
def test_chances_of_entries_are_found(positive, negative):
    logits, truth = drawn(3000, 8)
    labels = hidden(truth, positive, negative)
    how = how_written(logits, labels)
    assert how.kind == "entries"
    assert how.positive == pytest.approx(positive, abs=0.06)
    assert how.negative == pytest.approx(negative, abs=0.03)


@pytest.mark.parametrize(("write", "sizes"), [(one_written, (1.0, 0.0)), (up_to_two, (0.5, 0.5))])
def test_writers_of_a_few_tags_are_found(write, sizes):
    logits, truth = tagged()
    labels = write(truth)
    how = how_written(logits, labels)
    assert how.kind == "tags"
    assert how.sizes is not None
    assert how.sizes[1:3] == pytest.approx(sizes, abs=0.08)


@pytest.mark.parametrize(
    "write", [one_written, up_to_two, lambda truth: hidden(truth, 0.5, 0.0).astype(np.int8)]
)
def test_the_number_of_missing_tags_is_found_and_which(write):
    logits, truth = tagged()
    labels = write(truth)
    estimate = presence(logits, labels)
    unknown = labels == -1
    missing = truth[unknown].sum()
    assert estimate.probability[unknown].sum() == pytest.approx(missing, rel=0.15)
    assert estimate.share_written == pytest.approx((labels == 1).sum() / truth.sum(), abs=0.05)
    assert estimate.prior == pytest.approx(truth.mean(axis=0), abs=0.05)
    for low, high in ((0.3, 0.6), (0.6, 0.9)):
        chosen = unknown & (estimate.probability > low) & (estimate.probability < high)
        assert truth[chosen].mean() == pytest.approx(estimate.probability[chosen].mean(), abs=0.1)


def test_a_few_images_labeled_in_full_outweigh_a_wrong_idea_of_the_writer():
    """Whoever writes what is plain to see leaves labels of any number of fainter tags."""
    logits, truth = tagged(1500)
    plainest = np.where(truth == 1, logits, -np.inf)
    labels = np.where(plainest == plainest.max(axis=1, keepdims=True), 1, -1).astype(np.int8)
    others, their_truth = drawn(60, truth.shape[1], seed=9)
    missing = truth[labels == -1].sum()

    def error(complete=None, more=None, reviewed=None):
        all_logits, all_labels = logits, labels
        if more is not None:
            all_logits, all_labels = (
                np.concatenate(both) for both in zip((logits, labels), more, strict=True)
            )
        how = how_written(all_logits, all_labels, reviewed, complete)
        expected = how.posterior(logits, labels)[labels == -1].sum()
        return abs(expected / missing - 1)

    plain, helped = error(), error((others, their_truth))
    assert plain > 0.5
    assert helped < 0.3
    assert error((others, np.full_like(their_truth, -1))) == plain
    assert error(more=(others, their_truth)) == pytest.approx(helped, abs=1e-3)
    answered = np.zeros((len(labels) + len(others), labels.shape[1]), bool)
    answered[len(labels) :] = True
    assert error(more=(others, their_truth), reviewed=answered) == pytest.approx(helped, abs=1e-3)


def test_images_that_a_few_answers_complete_are_not_labeled_in_full():
    def full(rows):
        return labeled_in_full(np.array(rows, dtype=np.int8)).tolist()

    assert full([[1, 0], [-1, 1]]) == [False, False]
    assert full([[1, 0], [0, 1]]) == [True, True]
    many, some = [1] * 3 + [0] * 9, [1] + [-1] * 11
    assert full([many, some]) == [True, False]
    assert full([[1] * 12, some]) == [False, False]


def test_whoever_writes_two_tags_would_have_written_more_or_not():
    """Of images with one written tag, half were written by somebody who writes one at most."""
    logits, truth = tagged()
    labels = up_to_two(truth)
    estimate = presence(logits, labels)
    single = (labels == 1).sum(axis=1) == 1
    missing = truth[single].sum() - single.sum()
    expected = estimate.probability[single].sum() - single.sum()
    assert expected == pytest.approx(missing, rel=0.15)


def test_what_looks_like_a_second_tag_is_without_lookalikes():
    logits, truth = tagged(500)
    labels = one_written(truth)
    how = how_written(logits, labels)
    plain, doubted = (
        replace(how, lookalike=lookalike).posterior(logits, labels) for lookalike in (0.0, 1.0)
    )
    unknown = labels == -1
    assert (doubted[unknown] < plain[unknown]).all()
    np.testing.assert_array_equal(doubted[~unknown], plain[~unknown])
    assert (np.diff(doubted[unknown][np.argsort(plain[unknown])]) >= 0).all()


@pytest.mark.parametrize("write", [one_written, lambda truth: hidden(truth, 0.5, 0.0)])
def test_a_review_of_likely_tags_does_not_mean_that_all_tags_are_known(write):
    logits, truth = tagged(4000)
    labels = write(truth).copy()
    likely = np.argsort(-np.where(labels == -1, logits, -np.inf), axis=None)[:800]
    labels.ravel()[likely] = truth.ravel()[likely]
    unknown = labels == -1
    found = presence(logits, labels).probability[unknown].sum()
    assert (labels == 0).any()
    assert found == pytest.approx((truth[unknown] == 1).sum(), rel=0.3)


def test_no_positive_is_refused():
    with pytest.raises(TagfillError, match="without a positive"):
        how_written([[0.0, 1.0]], [[-1, 0]])


def test_one_image_and_constant_scores_have_an_answer():
    for labels in ([[1, -1]], [[1, -1], [-1, 1], [-1, -1]]):
        estimate = presence(np.zeros((len(labels), 2)), labels)
        assert np.isfinite(estimate.probability).all()
        assert 0 < estimate.share_written <= 1


WRITERS = [one_written, up_to_two, lambda truth: hidden(truth, 0.5, 0.0)]


@pytest.mark.parametrize("write", WRITERS)
def test_a_recorded_review_leaves_the_number_of_missing_tags_known(write):
    """Answers to the likeliest entries, more than half of which are there."""
    logits, truth = tagged(1000)
    before = write(truth)
    likely = np.argsort(-np.where(before == -1, logits, -np.inf), axis=None)[:250]
    labels = before.copy()
    labels.ravel()[likely] = truth.ravel()[likely]
    unknown = labels == -1
    estimate = presence(logits, labels, labels != before)
    assert (labels == 0).any()
    missing = (truth[unknown] == 1).sum()
    assert estimate.probability[unknown].sum() == pytest.approx(missing, rel=0.2)


def test_few_tags_promise_no_more_than_is_right():
    rng = np.random.default_rng(5)
    expected, right = 0.0, 0
    for seed in range(12):
        logits, truth = drawn(80, 10, seed)
        some = truth.any(axis=1)
        scores = (logits + 3 * rng.standard_normal(logits.shape))[some]
        labels = one_written(truth[some], seed)
        chances = presence(scores, labels).probability
        sure = (labels < 0) & (chances > 0.6)
        expected += chances[sure].sum()
        right += int(truth[some][sure].sum())
    assert expected <= 1.15 * right + 5
