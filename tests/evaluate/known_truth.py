"""Scores whose true probabilities are known, and labels drawn from them."""

from __future__ import annotations

import numpy as np

from tagfill.evaluate.arrays import sigmoid

SLOPE, BIAS = 1.5, -2.0


def drawn(images: int = 3000, classes: int = 6, seed: int = 0):
    """(logits, truth): independent tags with P = sigmoid(SLOPE x + BIAS)."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.0, 2.0, (images, classes))
    truth = (rng.random(logits.shape) < sigmoid(SLOPE * logits + BIAS)).astype(np.int8)
    return logits, truth


def hidden(truth, positive: float, negative: float, seed: int = 1):
    """Positives and negatives labeled with the given chances."""
    chance = np.where(truth == 1, positive, negative)
    return np.where(np.random.default_rng(seed).random(truth.shape) < chance, truth, -1)


def one_written(truth, seed: int = 1):
    """One positive of every image that has any; nothing else."""
    draw = np.random.default_rng(seed).random(truth.shape) * truth
    written = (draw == draw.max(axis=1, keepdims=True)) & (truth == 1)
    return np.where(written, 1, -1).astype(np.int8)
