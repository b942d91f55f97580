"""Least squares in closed form: sums of products over the images, and leave-one-out errors.

Memory does not depend on the number of images. Sums of several processes are added by ``merge``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tagfill.arrays import Floats

STRENGTHS = tuple(float(10.0**power) for power in np.arange(-4, 1.01, 0.25))
"""Penalties that are compared, relative to the features' mean sum of squares."""
Rows = Iterable[tuple[Tensor, Tensor]]
"""Blocks of features [n, D] and targets [n, K]."""


class Sums:
    """Sufficient statistics of least squares, summed block by block."""

    def __init__(self, width: int, classes: int) -> None:
        self.count = 0
        self.features, self.targets = torch.zeros(width).double(), torch.zeros(classes).double()
        self.squares = torch.zeros(width, width).double()
        self.products = torch.zeros(width, classes).double()

    def add(self, features: Tensor, targets: Tensor) -> None:
        """Take in a block."""
        x, y = features.double(), targets.double()
        self.count += len(x)
        self.features += x.sum(0)
        self.targets += y.sum(0)
        self.squares += x.T @ x
        self.products += x.T @ y

    def merge(self, other: Sums) -> None:
        """Add the sums of another process."""
        self.count += other.count
        self.features += other.features
        self.targets += other.targets
        self.squares += other.squares
        self.products += other.products


@dataclass(frozen=True, eq=False)
class Ridge:
    """The family of ridge solutions of some sums, along the features' principal axes.

    Args:
        count: of images.
        center, mean: of features and targets.
        spread: [r] sums of squares along the axes.
        axes: [D, r].
        products: [r, K] of coordinates and targets.
        typical: mean sum of squares of the features; strengths are relative to it.
    """

    count: int
    center: Tensor
    mean: Tensor
    spread: Tensor
    axes: Tensor
    products: Tensor
    typical: float

    @classmethod
    def of(cls, sums: Sums) -> Ridge:
        """Diagonalize the sums."""
        center, mean = sums.features / sums.count, sums.targets / sums.count
        squares = sums.squares - sums.count * torch.outer(center, center)
        products = sums.products - sums.count * torch.outer(center, mean)
        spread, axes = torch.linalg.eigh(squares)
        spread = spread.clamp_min(0)
        typical = max(float(spread.mean()), 1e-300)
        return cls(sums.count, center, mean, spread, axes, axes.T @ products, typical)

    def head(self, strength: float) -> tuple[Tensor, Tensor]:
        """[K, D] weights and [K] biases that predict the targets."""
        weight = self.axes @ (self.products / (self.spread + strength * self.typical)[:, None])
        return weight.T, self.mean - self.center @ weight

    def loss(self, strength: float) -> float:
        """Mean squared error on the images themselves, whose targets are 0 or 1."""
        damped = self.spread + strength * self.typical
        along = self.products / damped[:, None]
        variance = self.count * (self.mean - self.mean.square()).sum()
        explained = (along * (2 * self.products - self.spread[:, None] * along)).sum()
        return float(variance - explained) / (self.count * len(self.mean))

    def leave_one_out(self, rows: Rows, strengths: Sequence[float] = STRENGTHS) -> Floats:
        """Sums of squared errors with each strength, every image predicted from all others."""
        penalties = [strength * self.typical for strength in strengths]
        total = np.zeros(len(penalties))
        for features, targets in rows:
            coordinates = (features.double() - self.center) @ self.axes
            for place, penalty in enumerate(penalties):
                damped = self.spread + penalty
                guess = self.mean + coordinates @ (self.products / damped[:, None])
                own = 1 / self.count + (coordinates.square() / damped).sum(1, keepdim=True)
                error = (targets.double() - guess) / (1 - own).clamp_min(1e-9)
                total[place] += float(error.square().sum())
        return total


def best_strength(errors: Floats) -> float:
    """The one of ``STRENGTHS`` with the least error."""
    return STRENGTHS[int(errors.argmin())]


def ridge(rows: Callable[[], Rows], strength: float | None = None) -> tuple[Ridge, float]:
    """The solutions and the strength, where not given the one with the least leave-one-out error.

    Args:
        rows: starts over at the first block; asked once where the strength is given, else twice.
    """
    sums: Sums | None = None
    for features, targets in rows():
        sums = sums or Sums(features.shape[1], targets.shape[1])
        sums.add(features, targets)
    if sums is None:
        raise AssertionError  # there is always an image
    family = Ridge.of(sums)
    return family, best_strength(family.leave_one_out(rows())) if strength is None else strength
