"""Held-out costs by which choices are compared."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize
from scipy.special import xlogy
from torch import Tensor

from tagfill.linear.choice import Choice
from tagfill.linear.solve import Likelihood

FREE_SCALE = 2 / 3
"""Share of the held-out cost that is taken after the best scale and shift of the scores. Without it
the chosen penalties are too weak (they compensate for smoothed, small scores), with all of it too
strong."""
CONFIRMED = 0.1
"""Cost per image by which writers of "each" tag must be better after a review: tags that it
confirmed look as if they had been written."""
RANGES = 10
"""Of scores: the upper half, the upper quarter and so on."""


def held_out_cost(objective: Likelihood, logits: Tensor) -> float:
    """Cost per image of held-out labels, in part after the best scale and shift of the scores."""

    def cost(line: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        scaled = float(np.exp(line[0])) * logits
        value, slopes = objective(scaled + float(line[1]), slice(None))
        along = (slopes * scaled).sum(dtype=torch.float64), slopes.sum(dtype=torch.float64)
        size = len(logits)
        return float(value.sum(dtype=torch.float64)) / size, np.array([*map(float, along)]) / size

    plain, _ = cost(np.zeros(2))
    best = minimize(cost, np.zeros(2), jac=True, method="L-BFGS-B", options={"maxiter": 15})
    return FREE_SCALE * float(best.fun) + (1 - FREE_SCALE) * plain


def labeling_cost(choice: Choice, observed: Tensor, logits: Tensor) -> float:
    """Cost per image of which entries are known at all, the part that likelihoods leave out.

    Entries known at random have one probability of being known. Otherwise tags were written, "each"
    with probability c or "some" with a distribution of how many, and then a review looked at
    unwritten entries: with a probability that depends on their scores only, since reviews often
    begin with the likely ones.

    Args:
        choice: the writer.
        observed: [N, K] labels 1, 0, -1.
        logits: [N, K] of images that had no part in them.
    """
    images, positives = len(observed), int((observed == 1).sum())
    if choice.writer == "each" and choice.share == 0:
        known = positives + int((observed == 0).sum())
        return _split_cost(np.array([known]), np.array([observed.numel() - known])) / images
    review = _review_cost(choice, observed, logits) / images
    if choice.writer == "each":
        reviewed = bool((observed == 0).any())
        return review + CONFIRMED * reviewed - positives * float(np.log(choice.share)) / images
    share = torch.bincount(choice.written(observed)).double() / images
    return review - float(torch.xlogy(share, share).sum())


def _review_cost(choice: Choice, observed: Tensor, logits: Tensor) -> float:
    """Least cost of which unwritten entries were reviewed, one probability a range of scores.

    Which of an image's ones were confirmed and not written is unknown: each in the same proportion.
    """
    positive, positives = observed == 1, (observed == 1).sum(1)
    confirmed = (positives - choice.written(observed)) / positives.clamp_min(1)
    reviewed = (observed == 0) + confirmed[:, None] * positive
    unwritten = reviewed + (observed < 0)
    falling = logits.flatten().argsort(descending=True, stable=True)
    above = unwritten.flatten()[falling].double().cumsum(0)
    rank = (above / above[-1].clamp_min(1)).clamp(2.0**-RANGES, 1)
    place = (-rank.log2()).floor().long().numpy()
    counts = [
        np.bincount(place, weights.flatten()[falling].double().numpy())
        for weights in (reviewed, (observed < 0).double())
    ]
    return _split_cost(*counts)


def _split_cost(taken: npt.NDArray[np.number], left: npt.NDArray[np.number]) -> float:
    """Least cost of taking so many and leaving so many, with one probability a group."""
    size = np.maximum(taken + left, 1e-300)
    return float(-(xlogy(taken, taken / size) + xlogy(left, left / size)).sum())
