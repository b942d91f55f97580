"""Out-of-fold scores."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from tagfill.priors import linear, out_of_fold_scores


def ranked(scores, targets):
    """Chance that a positive outranks a negative."""
    positive, negative = scores[targets == 1], scores[targets == 0]
    return (positive[:, None] > negative).mean()


def test_signal_is_found_and_calibrated():
    draw = np.random.default_rng(0)
    features = draw.normal(size=(1500, 20)).astype(np.float32)
    chance = 1 / (1 + np.exp(-2 * features[:, :3] + 1))
    targets = (draw.random(chance.shape) < chance).astype(float)
    found = out_of_fold_scores(features, targets)
    assert found.rows.tolist() == list(range(1500))
    for c in range(3):
        assert ranked(found.logits[:, c], targets[:, c]) > 0.8
    means = (1 / (1 + np.exp(-found.logits))).mean(0)
    np.testing.assert_allclose(means, targets.mean(0), atol=0.02)


def test_no_image_is_scored_by_a_model_that_saw_it():
    draw = np.random.default_rng(1)
    features = draw.normal(size=(300, 120)).astype(np.float32)
    targets = (draw.random((300, 2)) < 0.5).astype(float)
    logits = out_of_fold_scores(features, targets).logits
    assert abs(ranked(logits[:, 0], targets[:, 0]) - 0.5) < 0.12


def test_large_data_is_sampled(monkeypatch):
    monkeypatch.setattr(linear, "ENTRIES", 600)
    draw = np.random.default_rng(2)
    found = out_of_fold_scores(draw.normal(size=(900, 4)), draw.integers(0, 2, (900, 3)))
    assert len(found.rows) == len(np.unique(found.rows)) == 200
    assert found.logits.shape == (200, 3)


def test_same_seed_same_scores_and_few_images_are_enough_to_run():
    draw = np.random.default_rng(3)
    features, targets = draw.normal(size=(5, 7)), np.eye(5)[:, :3]
    first, second = (out_of_fold_scores(features, targets, seed=4).logits for _ in range(2))
    assert np.array_equal(first, second)
    assert np.isfinite(first).all()


def test_constant_features():
    logits = out_of_fold_scores(np.ones((40, 3)), np.eye(40)[:, :2]).logits
    assert np.isfinite(logits).all()


def test_torch_is_not_needed():
    code = "import sys, tagfill.priors; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
