"""Scores into probabilities: what was not written, models on other scales, levels of estimates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from tagfill.evaluate import Labeling
from tagfill.labels.regime import Regime
from tagfill.recover.correct import Unseen, align, calibrate_to, labeling_of, presence


def drawn(share: float, images: int = 4000, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Scores of three classes, the chance of each tag, whether it is there, and what is written."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(images, 3)) * 2 - 1
    chance = expit(np.array([1.0, 1.5, 0.7]) * scores + np.array([-1.0, 0.0, 0.5]))
    there = rng.random(chance.shape) < chance
    written = np.where(there & (rng.random(chance.shape) < share), 1, -1).astype(np.int8)
    return scores, chance, there, written


def positives_only(share: float) -> Labeling:
    return Labeling(Regime.POSITIVE_ONLY, share, 0.0, share)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_missing_positives_are_corrected_for(share: float) -> None:
    scores, chance, there, written = drawn(share)
    found = presence(Unseen(scores, written), positives_only(share))
    assert np.abs(found.there - chance).mean() < 0.04
    unwritten = written == -1
    assert found.unwritten[unwritten].sum() == pytest.approx(there[unwritten].sum(), rel=0.1)
    likely = unwritten & (found.unwritten > 0.7)
    assert there[likely].mean() == pytest.approx(found.unwritten[likely].mean(), abs=0.07)


def test_without_correction_tags_would_be_taken_for_absent() -> None:
    scores, _, there, written = drawn(0.2)
    naive = presence(Unseen(scores, written), positives_only(0.99))
    corrected = presence(Unseen(scores, written), positives_only(0.2))
    assert naive.there.mean() < there.mean() / 2 < corrected.there.mean()


def test_known_entries_need_no_correction() -> None:
    scores, chance, there, _ = drawn(1.0)
    known = np.random.default_rng(2).random(scores.shape) < 0.3
    train = Unseen(scores, np.where(known, there, -1).astype(np.int8))
    found = presence(train, labeling_of(train, scores))
    assert np.abs(found.there - chance).mean() < 0.03
    assert np.allclose(found.there, found.unwritten)


def test_validation_labels_are_better_than_a_wrong_share() -> None:
    scores, chance, _, written = drawn(0.3)
    val_scores, _, val_there, _ = drawn(1.0, images=1000, seed=5)
    val = Unseen(val_scores, val_there.astype(np.int8))
    with_val = presence(Unseen(scores, written), positives_only(0.7), val)
    assert "validation" in with_val.how
    assert np.abs(with_val.there - chance).mean() < 0.04
    only_positives = Unseen(val_scores, np.where(val_there, 1, -1).astype(np.int8))
    without = presence(Unseen(scores, written), positives_only(0.7), only_positives)
    assert "validation" not in without.how


def test_models_on_other_scales_are_brought_to_one() -> None:
    scores, _, _, written = drawn(0.5)
    ours, others = align(Unseen(scores, written), scores[:7])
    theirs, _ = align(Unseen(20 * scores + 3, written), scores[:7])
    assert np.allclose(ours, theirs, atol=1e-2)
    assert np.allclose(others, ours[:7])


def test_answers_to_suggestions_do_not_pass_for_entries_known_at_random() -> None:
    """Reviewed entries are mostly likely: among known ones positives are far too frequent."""
    scores, chance, there, written = drawn(0.4)
    asked = (written == -1) & (chance > 0.6) & (np.random.default_rng(4).random(chance.shape) < 0.5)
    train = Unseen(scores, np.where(asked, there, written).astype(np.int8))
    assert not train.speaks_for_negatives
    assert (train.labels == 0).any()
    found = presence(train, labeling_of(train, scores))
    unknown = train.labels == -1
    known_rate = (train.labels == 1).sum() / (train.labels != -1).sum()
    assert found.unwritten[unknown].mean() < known_rate / 2
    assert 0.5 < found.unwritten[unknown].sum() / there[unknown].sum() < 2


def test_estimates_take_the_level_of_the_reference() -> None:
    scores, chance, _, _ = drawn(1.0)
    every = np.ones(scores.shape, dtype=bool)
    assert np.abs(calibrate_to(7 * scores - 2, chance, every) - chance).mean() < 0.02
    noise = np.random.default_rng(9).normal(size=scores.shape)
    flat = calibrate_to(noise, chance, every)
    assert np.allclose(flat, chance.mean(axis=0), atol=0.05)
