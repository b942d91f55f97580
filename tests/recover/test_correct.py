"""Scores into probabilities: curves, the ceiling of unwritten tags, models on different scales."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from tagfill.recover.correct import Unseen, align, fit_curves, presence


def drawn(share: float, images: int = 4000, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Scores of three classes, the chance of each tag, whether it is there, and what is written."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(images, 3)) * 2 - 1
    chance = expit(np.array([1.0, 1.5, 0.7]) * scores + np.array([-1.0, 0.0, 0.5]))
    there = rng.random(chance.shape) < chance
    written = np.where(there & (rng.random(chance.shape) < share), 1, -1).astype(np.int8)
    return scores, chance, there, written


def test_curves_find_the_probabilities_labels_were_drawn_from() -> None:
    scores, chance, there, _ = drawn(1.0)
    found = fit_curves(scores, there.astype(float), np.ones(scores.shape, dtype=bool))(scores)
    assert np.abs(found - chance).mean() < 0.01


def test_unused_cells_do_not_matter() -> None:
    scores, _, there, _ = drawn(1.0)
    used = np.random.default_rng(1).random(scores.shape) < 0.5
    targets = there.astype(float)
    changed = np.where(used, targets, 1 - targets)
    assert np.allclose(
        fit_curves(scores, targets, used)(scores), fit_curves(scores, changed, used)(scores)
    )


def test_a_class_without_positives_follows_the_others() -> None:
    scores, _, there, _ = drawn(1.0)
    used = np.ones(scores.shape, dtype=bool)
    used[5:, 2] = False
    targets = there.astype(float)
    targets[:5, 2] = 0
    curves = fit_curves(scores, targets, used)
    assert curves.slope[2] == pytest.approx(curves.slope[:2].mean(), abs=0.3)
    assert curves.offset[2] < curves.offset[1]


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_missing_positives_are_corrected_for(share: float) -> None:
    scores, chance, there, written = drawn(share)
    found = presence(Unseen(scores, written), share)
    assert np.abs(found.there - chance).mean() < 0.03
    unwritten = written == -1
    assert found.unwritten[unwritten].sum() == pytest.approx(there[unwritten].sum(), rel=0.1)
    likely = unwritten & (found.unwritten > 0.7)
    assert there[likely].mean() == pytest.approx(found.unwritten[likely].mean(), abs=0.07)


def test_without_correction_tags_would_be_taken_for_absent() -> None:
    scores, _, there, written = drawn(0.2)
    naive = presence(Unseen(scores, written), 0.99)
    corrected = presence(Unseen(scores, written), 0.2)
    assert naive.there.mean() < there.mean() / 2 < corrected.there.mean()


def test_known_cells_need_no_correction() -> None:
    scores, chance, there, _ = drawn(1.0)
    known = np.random.default_rng(2).random(scores.shape) < 0.3
    labels = np.where(known, there, -1).astype(np.int8)
    found = presence(Unseen(scores, labels), 0.0)
    assert np.abs(found.there - chance).mean() < 0.03
    assert np.array_equal(found.there, found.unwritten)


def test_validation_labels_are_better_than_a_guess_at_the_share() -> None:
    scores, chance, _, written = drawn(0.3)
    val_scores, _, val_there, _ = drawn(1.0, images=1000, seed=5)
    val = Unseen(val_scores, val_there.astype(np.int8))
    wrong_share = 0.7
    with_val = presence(Unseen(scores, written), wrong_share, val)
    assert "validation" in with_val.how
    assert np.abs(with_val.there - chance).mean() < 0.03
    only_positives = Unseen(val_scores, np.where(val_there, 1, -1).astype(np.int8))
    assert "validation" not in presence(Unseen(scores, written), 0.7, only_positives).how


def test_models_on_other_scales_are_brought_to_one() -> None:
    scores, _, _, written = drawn(0.5)
    ours, others = align(Unseen(scores, written), scores[:7])
    theirs, _ = align(Unseen(20 * scores + 3, written), scores[:7])
    assert np.allclose(ours, theirs, atol=1e-2)
    assert np.allclose(others, ours[:7])
