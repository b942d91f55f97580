"""The problem of a linear head in coordinates in which all directions are about equally curved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tagfill.linear.basis import Basis
from tagfill.linear.objective import Objective

CURVATURE = 0.1
"""About the mean of p (1 - p), the bend of the likelihood; it only affects the number of steps."""
HISTORY = 10
_COPIED = 30_000_000
"""Numbers of selected rows that are copied once; of more, blocks are copied at every step."""
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

    def scores(self, basis: Basis, rows: slice | Tensor) -> Tensor:
        """[n, K] logits of some rows of the basis."""
        return torch.addmm(self.bias.float(), basis.block(rows), basis.outward(self.weight.float()))


class Scaled:
    """The objective plus an L2 penalty, as a function of scaled weights and biases.

    The sum over the images is about equally curved in all directions, and by about 1.

    Args:
        basis: of the features.
        objective: of the images of the basis, or of ``rows`` of them.
        strength: of the penalty on weights, relative to the features' mean sum of squares.
        rows: which images of the basis to learn from.
    """

    def __init__(
        self, basis: Basis, objective: Objective, strength: float, rows: Tensor | None = None
    ) -> None:
        self.basis, self.objective, self.strength, self.rows = basis, objective, strength, rows
        self.images = len(basis) if rows is None else len(rows)
        self.copied: Tensor | None = None
        if rows is not None and not basis.streams and len(rows) * len(basis.sums) <= _COPIED:
            self.copied = basis.block(rows)
        share = self.images / max(len(basis), 1)
        sums, penalty = basis.sums * share, strength * basis.typical * share
        self.scale = (CURVATURE * sums + penalty).rsqrt().float()[:, None]
        self.lift = 1 / float(np.sqrt(CURVATURE * self.images))
        self.pull = penalty * self.scale.square()

    def subset(self, index: Tensor) -> Scaled:
        """The same problem with some of its images."""
        rows = index if self.rows is None else self.rows[index]
        return Scaled(self.basis, self.objective.subset(index), self.strength, rows)

    @property
    def history(self) -> int:
        """Steps that L-BFGS remembers."""
        numbers = (len(self.scale) + 1) * self.objective.classes
        return max(3, min(HISTORY, _NUMBERS // (2 * numbers)))

    def inner(self, start: Solution | None) -> Tensor:
        """[r + 1, K] where to start: at a solution, or at the tags' frequencies."""
        inner = torch.zeros(len(self.scale) + 1, self.objective.classes)
        inner[-1] = (self.objective.start() if start is None else start.bias) / self.lift
        if start is not None:
            inner[:-1] = start.weight / self.scale
        return inner

    def solution(self, inner: Tensor, steps: int, value: float) -> Solution:
        """The head of scaled weights and biases, with the mean over images that they give."""
        weight, bias = self._outer(inner)
        return Solution(weight, bias, steps, value / self.objective.classes)

    def _outer(self, inner: Tensor) -> tuple[Tensor, Tensor]:
        return self.scale * inner[:-1], self.lift * inner[-1]

    def __call__(self, inner: Tensor) -> tuple[float, Tensor]:
        """Mean over the images, and its derivatives [r + 1, K]."""
        value, slopes = self._total(*self._outer(inner))
        value += 0.5 * float((self.pull * inner[:-1].square()).sum(dtype=torch.float64))
        slopes[:-1] = self.scale * slopes[:-1] + self.pull * inner[:-1]
        slopes[-1] *= self.lift
        return value / self.images, slopes / self.images

    def _total(self, weight: Tensor, bias: Tensor) -> tuple[float, Tensor]:
        """Sum of the terms, and its derivatives by weights and, in the last row, biases."""
        outer = self.basis.outward(weight)
        value, slopes = 0.0, torch.zeros(len(outer), weight.shape[1])
        last = torch.zeros(1, weight.shape[1])
        step = self.basis.rows_at_once(weight.shape[1])
        for start in range(0, self.images, step):
            rows = slice(start, start + step)
            block = self._block(rows)
            terms, gradient = self.objective(torch.addmm(bias, block, outer), rows)
            value += float(terms.sum(dtype=torch.float64))
            slopes.addmm_(block.T, gradient)
            last += gradient.sum(0)
        return value, torch.cat([self.basis.inward(slopes), last])

    def _block(self, rows: slice) -> Tensor:
        if self.copied is not None:
            return self.copied[rows]
        return self.basis.block(rows if self.rows is None else self.rows[rows])
