"""Least squares in closed form: sums of products over the images, and leave-one-out errors.

Memory does not depend on the number of images. Sums of several processes are added by ``merge``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

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

    def leave_one_out(
        self, rows: Rows, strengths: Iterable[float] = STRENGTHS
    ) -> npt.NDArray[np.float64]:
        """Mean squared error of each strength, every image predicted from all others."""
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
        return total / (self.count * len(self.mean))


def ridge(
    features: Tensor, targets: Tensor, strength: float | None = None, block: int = 8192
) -> tuple[Tensor, Tensor, float]:
    """Weights [K, D], biases [K] and the strength, by leave-one-out error where not given."""

    def rows() -> Iterator[tuple[Tensor, Tensor]]:
        yield from zip(features.split(block), targets.split(block), strict=True)

    sums = Sums(features.shape[1], targets.shape[1])
    for pair in rows():
        sums.add(*pair)
    family = Ridge.of(sums)
    if strength is None:
        strength = STRENGTHS[int(family.leave_one_out(rows()).argmin())]
    weight, bias = family.head(strength)
    return weight, bias, strength
