"""Held-out costs by which choices are compared."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import xlogy
from torch import Tensor

from tagfill.arrays import Floats
from tagfill.linear.choice import Choice
from tagfill.linear.line import best_line
from tagfill.linear.solve import Likelihood

FREE_SCALE = 2 / 3
"""Share of the held-out cost that is taken after the best scale and shift of the scores. Without it
the chosen penalties are too weak (they compensate for smoothed, small scores), with all of it too
strong."""
CONFIRMED = 0.25
"""Cost per image by which writers of "each" tag must be better after a review: tags that it
confirmed look as if they had been written."""
TINY = 1e-12
RANGES = 10
"""Of scores: the upper half, the upper quarter and so on."""


def held_out_cost(objective: Likelihood, logits: Tensor) -> float:
    """Cost per image of held-out labels, in part after the best scale and shift of the scores."""

    def cost(line: Tensor) -> tuple[float, Tensor]:
        scaled = float(line[0].exp()) * logits
        value, slopes = objective(scaled + float(line[1]), slice(None))
        along = (slopes * scaled).sum(dtype=torch.float64), slopes.sum(dtype=torch.float64)
        return float(value.mean(dtype=torch.float64)), torch.stack(along) / len(logits)

    plain, _ = cost(torch.zeros(2))
    return FREE_SCALE * best_line(cost).cost + (1 - FREE_SCALE) * plain


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
    images, place = len(observed), score_ranges(logits).flatten().numpy()

    def count(weights: Tensor) -> Floats:
        counts = np.bincount(place, weights.flatten().double().numpy(), RANGES + 1)
        return counts.astype(np.float64)

    yes, no, unknown = (count(observed == state) for state in (1, 0, -1))
    if choice.writer == "each" and choice.share == 0:
        return _split_cost(np.sum(yes + no), np.sum(unknown)) / images
    if choice.writer == "each":
        reviewed = no / np.maximum(no + unknown, 1)
        written = xlogy(yes, choice.share + (1 - choice.share) * reviewed).sum()
        return float(_split_cost(no, unknown) - written) / images + CONFIRMED * bool(no.any())
    counts, positive = choice.written(observed), observed == 1
    # which of an image's ones were confirmed and not written is not known
    confirmed = 1 - counts / positive.sum(1).clamp_min(1)
    share = torch.bincount(counts).double() / images
    review = _split_cost(no + count(confirmed[:, None] * positive), unknown) / images
    return review - float(torch.xlogy(share, share).sum())


def recorded_labeling_cost(choice: Choice, observed: Tensor, reviewed: Tensor) -> float:
    """``labeling_cost`` where it is recorded which entries a review answered.

    Why those were asked says nothing about the writer; that they had been left unwritten does.

    Args:
        choice: the writer.
        observed: [N, K] labels 1, 0, -1.
        reviewed: [N, K] entries that a review answered.
    """
    images, positive = len(observed), observed == 1
    yes, no = (int((state & ~reviewed).sum()) for state in (positive, observed == 0))
    rest, confirmed = observed.numel() - yes - no, int((positive & reviewed).sum())
    if choice.writer == "each" and choice.share == 0:
        return _split_cost(yes + no, rest) / images
    stated = _split_cost(no, rest) / images
    if choice.writer == "each":
        unwritten = max(1 - choice.share, TINY)
        return stated - float(xlogy(yes, choice.share) + xlogy(confirmed, unwritten)) / images
    share = torch.bincount(choice.written(observed, reviewed)).double() / images
    return stated - float(torch.xlogy(share, share).sum())


def score_ranges(scores: Tensor) -> Tensor:
    """[N, K] the range of each entry: 0 for the lower half, 1 for the quarter above it, ..."""
    falling = scores.flatten().argsort(descending=True, stable=True)
    rank = torch.arange(1, len(falling) + 1, dtype=torch.float64) / max(len(falling), 1)
    place = torch.empty_like(falling)
    place[falling] = (-rank.clamp(2.0**-RANGES, 1).log2()).floor().long()
    return place.view(scores.shape)


def _split_cost(taken: npt.ArrayLike, left: npt.ArrayLike) -> float:
    """Least cost of taking so many and leaving so many, with one probability a group."""
    size = np.maximum(np.add(taken, left), 1e-300)
    return float(-(xlogy(taken, taken / size) + xlogy(left, left / size)).sum())
