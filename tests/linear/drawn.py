"""Features and labels drawn at random, and how well scores rank them."""

from __future__ import annotations

import numpy as np

IMAGES, WIDTH, CLASSES = 300, 12, 5


def data(seed: int = 0, images: int = IMAGES) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    features = draw.normal(size=(images, WIDTH)).astype(np.float32)
    weights = np.random.default_rng(7).normal(size=(WIDTH, CLASSES))
    logits = features @ weights * 1.5 - 1
    return features, (logits + draw.logistic(size=logits.shape) > 0).astype(np.int8)


def one_each(truth: np.ndarray, seed: int = 0) -> np.ndarray:
    draw, observed = np.random.default_rng(seed), np.full_like(truth, -1)
    for row, tags in enumerate(truth):
        if tags.any():
            observed[row, draw.choice(np.flatnonzero(tags))] = 1
    return observed


def ranked(truth: np.ndarray, scores: np.ndarray) -> float:
    """Share of pairs in the right order, mean over classes."""
    shares = []
    for y, s in zip(truth.T, scores.T, strict=True):
        shares.append((s[y == 1][:, None] > s[y == 0][None]).mean())
    return float(np.mean(shares))
