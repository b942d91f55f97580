"""A quick linear model whose scores for an image come from other images."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit

Array = npt.NDArray[np.float64]
Features = npt.NDArray[np.floating]

COMPONENTS = 128
FOLDS = 4
STEPS = 60
ENTRIES = 2_000_000
"""Labels a fit may take; more images than this allows are drawn at random."""
PENALTIES = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0)
"""Squared-weight penalties, strongest first."""


class OutOfFold(NamedTuple):
    """Scores of the images that took part.

    Args:
        rows: [M] which images.
        logits: [M, K].
    """

    rows: npt.NDArray[np.intp]
    logits: Array


def out_of_fold_scores(
    features: Features, targets: npt.ArrayLike, *, folds: int = FOLDS, seed: int = 0
) -> OutOfFold:
    """Logistic regression of every class on the main components of the features.

    Each image is scored by a model fitted without it. The penalty is the one with the best
    likelihood on the first fold.

    Args:
        features: [N, D].
        targets: [N, K] 0 and 1.
        folds: how often the model is fitted.
        seed: of folds and, where there are too many, of the choice of images.
    """
    wanted = np.asarray(targets, dtype=np.float32)
    draw = np.random.default_rng([seed, len(wanted), 7])  # unlike any stream that drew the labels
    rows = _sample(draw, *wanted.shape)
    inputs, wanted = principal_components(np.asarray(features)[rows]), wanted[rows]
    fold = draw.permutation(len(rows)) % max(2, min(folds, len(rows)))
    penalty, start = _best_penalty(inputs, wanted, fold == 0)
    logits = np.empty(wanted.shape)
    for number in np.unique(fold):
        held_out = fold == number
        weights = _fit(inputs[~held_out], wanted[~held_out], penalty, start)
        logits[held_out] = inputs[held_out] @ weights
    return OutOfFold(rows, logits)


def principal_components(features: Features, count: int = COMPONENTS) -> Features:
    """[N, C + 1] the main components, of unit variance on average, and a constant."""
    centered = features.astype(np.float32) - features.mean(axis=0, dtype=np.float64)
    variances, directions = np.linalg.eigh(centered.T @ centered / len(centered))
    variances, directions = variances[::-1][:count], directions[:, ::-1][:, :count]
    scale = np.sqrt(np.maximum(variances, 0)).mean() or 1.0
    components = (centered @ directions / scale).astype(np.float32)
    return np.concatenate([components, np.ones((len(components), 1), np.float32)], axis=1)


def _sample(draw: np.random.Generator, images: int, classes: int) -> npt.NDArray[np.intp]:
    most = max(200, ENTRIES // classes)
    return np.arange(images) if images <= most else np.sort(draw.permutation(images)[:most])


def _best_penalty(
    inputs: Features, targets: npt.NDArray[np.float32], held_out: npt.NDArray[np.bool_]
) -> tuple[float, Array]:
    """Ease the penalty as long as the held-out likelihood gains."""
    weights = _base_rates(inputs.shape[1], targets)
    best: tuple[float, float, Array] = (np.inf, PENALTIES[0], weights)
    for penalty in PENALTIES:
        weights = _fit(inputs[~held_out], targets[~held_out], penalty, weights)
        cost = _cost(inputs[held_out] @ weights, targets[held_out])
        if cost >= best[0]:
            break
        best = (cost, penalty, weights)
    return best[1], best[2]


def _base_rates(inputs: int, targets: npt.NDArray[np.float32]) -> Array:
    rates = (targets.sum(axis=0, dtype=np.float64) + 0.5) / (len(targets) + 1)
    weights = np.zeros((inputs, targets.shape[1]))
    weights[-1] = np.log(rates / (1 - rates))
    return weights


def _cost(logits: npt.NDArray[np.floating], targets: npt.NDArray[np.float32]) -> float:
    return float((np.logaddexp(0, logits) - targets * logits).sum(dtype=np.float64))


def _fit(inputs: Features, targets: npt.NDArray[np.float32], penalty: float, start: Array) -> Array:
    """[C + 1, K] weights; all but the constant's are penalized."""
    shape = start.shape

    def objective(flat: Array) -> tuple[float, Array]:
        weights = flat.reshape(shape)
        logits = inputs @ weights.astype(np.float32)
        slope = (inputs.T @ (expit(logits) - targets)).astype(np.float64)
        slope[:-1] += penalty * weights[:-1]
        return (
            _cost(logits, targets) + 0.5 * penalty * float((weights[:-1] ** 2).sum()),
            slope.ravel(),
        )

    options = {"maxiter": STEPS}
    found = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    weights: Array = found.x.reshape(shape)
    return weights
