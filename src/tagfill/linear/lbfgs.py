"""L-BFGS: the lowest point of a problem whose curvature is about 1 in all directions.

The same bytes every time, in a dozen steps: the first step already has the right length, and most
steps need a single evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from tagfill.linear.threads import end_if_unwanted

STEPS = 200
_TRIES = 8
_ARMIJO = 1e-4
_NOISE = 1e-8
"""Relative rounding error of a sum of single-precision terms."""


class Problem(Protocol):
    """What is minimized: a mean over images with a curvature of about 1 for each."""

    @property
    def images(self) -> int:
        """Their number."""

    def __call__(self, inner: Tensor) -> tuple[float, Tensor]:
        """The mean at a point, and its slopes."""


class Pair(NamedTuple):
    """A step, the change of the slopes along it, and the product of both."""

    step: Tensor
    change: Tensor
    product: float


@dataclass
class Memory:
    """Steps, of which the last few count."""

    size: int
    pairs: list[Pair] = field(default_factory=list)

    def add(self, step: Tensor, change: Tensor) -> None:
        """Remember a step, unless the problem is not curved along it."""
        product = _dot(step, change)
        if product > 0:
            self.pairs = [*self.pairs, Pair(step, change, product)][-self.size :]

    def scaled(self, factor: float) -> None:
        """Change to coordinates that are so many times as large."""
        self.pairs = [
            Pair(step * factor, change / factor, product) for step, change, product in self.pairs
        ]

    def direction(self, slopes: Tensor, bend: float) -> Tensor:
        """Where the lowest point should be, with a curvature of ``bend`` where nothing is known."""
        left, shares = slopes.clone(), []
        for step, change, product in reversed(self.pairs):
            shares.append(_dot(step, left) / product)
            left.sub_(change, alpha=shares[-1])
        if self.pairs:
            last = self.pairs[-1]
            bend = _dot(last.change, last.change) / last.product
        left /= bend
        for (step, change, product), share in zip(self.pairs, reversed(shares), strict=True):
            left.add_(step, alpha=share - _dot(change, left) / product)
        return left.neg_()


def minimized(
    problem: Problem, inner: Tensor, memory: Memory, tolerance: float, most: int = STEPS
) -> tuple[Tensor, int, float]:
    """The lowest point, the number of steps and the value there.

    Args:
        problem: what is minimized.
        inner: where to start.
        memory: of earlier steps; those taken are added.
        tolerance: expected decrease at which to stop.
        most: steps.
    """
    value, slopes = problem(inner)
    for number in range(most):
        end_if_unwanted()
        way = memory.direction(slopes, 1 / problem.images)
        promised = -_dot(way, slopes)
        if promised / 2 < tolerance:
            return inner, number, value
        step, there, others = _descended(problem, inner, way, value, promised)
        if there >= value:
            return inner, number, value
        memory.add(step, others - slopes)
        inner, value, slopes = inner + step, there, others
    return inner, most, value


def _descended(
    problem: Problem, inner: Tensor, way: Tensor, value: float, promised: float
) -> tuple[Tensor, float, Tensor]:
    """Backtracking line search: the new point with its value and gradient."""
    size = 1.0
    for _ in range(_TRIES):
        there, slopes = problem(inner + size * way)
        if there <= value - _ARMIJO * size * promised + _NOISE * abs(value):
            break
        lowest = 0.5 * promised * size / (there - value + promised * size)
        size *= float(np.clip(np.nan_to_num(lowest), 0.1, 0.5))
    return size * way, there, slopes


def _dot(first: Tensor, second: Tensor) -> float:
    return float(torch.dot(first.view(-1), second.view(-1)))
