"""Full-batch L-BFGS for linear heads: the same bytes every time, in a dozen steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from tagfill.linear.basis import Basis
from tagfill.losses.likelihood import Writer, spread_penalty, value_and_gradient

CURVATURE = 0.05
"""About the mean of p (1 - p), the bend of the likelihood; it only affects the number of steps."""
STEPS = 200
ENTRIES = 2_000_000
"""Logits held at a time."""
HISTORY = 10
_NUMBERS = 40_000_000
"""Numbers of L-BFGS's memory; with very many classes it remembers fewer steps."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A linear head along the axes of a basis.

    Args:
        weight: [r, K].
        bias: [K].
        steps: of L-BFGS.
        loss: what was minimized, the penalty included, as a mean over entries.
    """

    weight: Tensor
    bias: Tensor
    steps: int
    loss: float

    def scores(self, rotated: Tensor) -> Tensor:
        """[N, K] logits of rotated features."""
        return torch.addmm(self.bias.float(), rotated.float(), self.weight.float())


class Objective(Protocol):
    """What is minimized, image by image."""

    @property
    def classes(self) -> int:
        """K."""

    def __call__(self, logits: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
        """Terms [n] of some rows, and their derivatives [n, K] by the logits."""

    def start(self) -> Tensor:
        """[K] biases to start from."""


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The objective: likelihood of the labels, smoothed where the labels say something.

    Args:
        observed: [N, K] labels 1, 0, -1.
        writer: of the N images.
        smoothing: weight of softplus(g) + softplus(-g) on known entries; an unknown entry has its
            share of it, the chance that its tag would have been written.
    """

    observed: Tensor
    writer: Writer
    smoothing: float = 0.0

    @property
    def classes(self) -> int:
        """K."""
        return self.observed.shape[1]

    def __call__(self, logits: Tensor, rows: slice | Tensor) -> tuple[Tensor, Tensor]:
        """Terms and derivatives of some rows."""
        observed, writer = self.observed[rows], self.writer.rows(rows)
        value, gradient = value_and_gradient(logits, observed, writer)
        if self.smoothing == 0:
            return value, gradient
        share = self.smoothing * told(observed, writer).to(logits)
        value = value + (share * spread_penalty(logits)).sum(1)
        return value, gradient + share * torch.tanh(logits / 2)

    def some(self, rows: Tensor) -> Likelihood:
        """Of some of the images."""
        return Likelihood(self.observed[rows], self.writer.rows(rows), self.smoothing)

    def start(self) -> Tensor:
        """[K] biases to start from: how often each tag is there among entries that tell."""
        positives = (self.observed == 1).sum(0).double()
        size = told(self.observed, self.writer).sum(0).double()
        rate = (positives + 0.5) / (size + 1).maximum(positives + 1)
        return torch.logit(rate)


def told(observed: Tensor, writer: Writer) -> Tensor:
    """[N, K] how much an entry tells: known ones 1, unknown ones the chance of being written."""
    weight = torch.softmax(writer.log_weight, 1)
    written = 1 - (weight * writer.unwritten).sum(1, keepdim=True)
    return torch.where(observed < 0, written, 1.0)


def solve(
    basis: Basis,
    objective: Objective,
    strength: float,
    *,
    rows: Tensor | None = None,
    start: Solution | None = None,
    tolerance: float = 1e-9,
) -> Solution:
    """The head that minimizes the objective plus an L2 penalty.

    Args:
        basis: of the features.
        objective: of the images of the basis, or of ``rows`` of them.
        strength: of the penalty on weights, relative to the features' mean sum of squares.
        rows: which images of the basis to learn from.
        start: where to start; at the tags' frequencies by default.
        tolerance: decrease per image at which to stop.
    """
    images = len(basis.rotated) if rows is None else len(rows)
    share = images / max(len(basis.rotated), 1)
    sums, penalty = basis.sums * share, strength * basis.typical * share
    scale = (CURVATURE * sums + penalty).rsqrt().float()
    lift = 1 / float(np.sqrt(CURVATURE * images))
    count, classes = len(scale), objective.classes
    pull = (penalty * scale.square())[:, None]
    inner = torch.zeros(count + 1, classes)
    inner[-1] = (objective.start() if start is None else start.bias) / lift
    if start is not None:
        inner[:-1] = start.weight / scale[:, None]
    solver = torch.optim.LBFGS(
        [inner],
        max_iter=STEPS,
        tolerance_grad=1e-7,
        tolerance_change=tolerance,
        history_size=max(3, min(HISTORY, _NUMBERS // (2 * inner.numel()))),
        line_search_fn="strong_wolfe",
    )

    def evaluate() -> Tensor:
        weight, bias = scale[:, None] * inner[:-1], lift * inner[-1]
        value, slopes = _total(basis.rotated, rows, objective, weight, bias)
        value += 0.5 * float((pull * inner[:-1].square()).sum(dtype=torch.float64))
        slopes[:-1] = scale[:, None] * slopes[:-1] + pull * inner[:-1]
        slopes[-1] *= lift
        inner.grad = slopes / images
        return torch.tensor(value / images, dtype=torch.float64)

    solver.step(evaluate)
    steps, loss = int(solver.state[inner]["n_iter"]), float(evaluate()) / classes
    return Solution(scale[:, None] * inner[:-1], lift * inner[-1], steps, loss)


def _total(
    rotated: Tensor, index: Tensor | None, objective: Objective, weight: Tensor, bias: Tensor
) -> tuple[float, Tensor]:
    """Sum of the terms, and its derivatives by weights and, in the last row, biases."""
    value, slopes = 0.0, torch.zeros(len(weight) + 1, weight.shape[1])
    step = max(1, ENTRIES // weight.shape[1])
    for start in range(0, len(rotated if index is None else index), step):
        rows = slice(start, start + step)
        block = rotated[rows if index is None else index[rows]].float()
        terms, gradient = objective(torch.addmm(bias, block, weight), rows)
        value += float(terms.sum(dtype=torch.float64))
        slopes[:-1].addmm_(block.T, gradient)
        slopes[-1] += gradient.sum(0)
    return value, slopes
