"""Held-out costs by which choices are compared."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize, minimize_scalar
from torch import Tensor

from tagfill.linear.choice import Choice
from tagfill.linear.solve import Likelihood

FREE_SCALE = 2 / 3
"""Share of the held-out cost that is taken after the best scale and shift of the scores. Without it
the chosen penalties are too weak (they compensate for smoothed, small scores), with all of it too
strong."""


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


def labeling_cost(choice: Choice, observed: Tensor) -> float:
    """Cost per image of which entries are known at all, the part that the logits do not decide.

    Entries that nobody wrote are reviewed with a chance r of their own. A writer of "each" tag with
    chance c leaves a known positive with chance c + (1 - c) r, a writer of "some" with a
    distribution over how many are known.
    """
    images = len(observed)
    yes, no = int((observed == 1).sum()), int((observed == 0).sum())
    unknown = observed.numel() - yes - no
    if choice.writer == "each":
        return _each_cost(choice.share, yes, no, unknown) / images
    sizes = torch.bincount((observed == 1).sum(1)).double()
    share = sizes[sizes > 0] / images
    return float(-(share * share.log()).sum()) + _cost(no, unknown) / images


def _each_cost(share: float, yes: int, no: int, unknown: int) -> float:
    def cost(chance: float) -> float:
        known = share + (1 - share) * chance
        total = -_times_log(yes, known) - _times_log(no, chance)
        return total - _times_log(unknown, 1 - chance)

    if no == 0 and share > 0:
        return cost(0.0)
    if unknown == 0:
        return cost(1.0)
    return float(minimize_scalar(cost, bounds=(0.0, 1.0), method="bounded").fun)


def _cost(taken: int, left: int) -> float:
    """Least cost of ``taken`` out of all under one chance."""
    size = max(taken + left, 1)
    return -_times_log(taken, taken / size) - _times_log(left, left / size)


def _times_log(count: int, chance: float) -> float:
    return count * float(np.log(max(chance, 1e-300))) if count else 0.0
