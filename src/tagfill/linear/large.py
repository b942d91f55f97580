"""Linear heads of very many images: L-BFGS on some of them, then on more, then on all.

The curvature estimated on a subset also holds for more images, so that a few evaluations on all of
them are enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from tagfill.linear.scaled import Scaled, Solution

COARSE = 10_000
"""Size of the smallest subset; each larger subset has four times as many images."""
GAIN = 1e-4
"""Least gain in log-likelihood of all labels per weight for another step. Noise alone gains about
a half per weight."""
STEPS = 200
_TRIES = 8
_ARMIJO = 1e-4


@dataclass
class _Memory:
    """Steps and the changes of slopes along them, of which the last few count."""

    size: int
    pairs: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    def add(self, step: Tensor, change: Tensor) -> None:
        if _dot(step, change) > 0:
            self.pairs = [*self.pairs, (step, change)][-self.size :]

    def scaled(self, factor: float) -> None:
        """Change to coordinates that are so many times as large."""
        self.pairs = [(step * factor, change / factor) for step, change in self.pairs]

    def direction(self, slopes: Tensor, bend: float) -> Tensor:
        """Where the lowest point should be, with a curvature of ``bend`` where nothing is known."""
        left, shares = slopes.clone(), []
        for step, change in reversed(self.pairs):
            shares.append(_dot(step, left) / _dot(step, change))
            left -= shares[-1] * change
        if self.pairs:
            step, change = self.pairs[-1]
            bend = _dot(change, change) / _dot(step, change)
        left /= bend
        for (step, change), share in zip(self.pairs, reversed(shares), strict=True):
            left += (share - _dot(change, left) / _dot(step, change)) * step
        return -left


def solve_large(problem: Scaled, start: Solution | None, tolerance: float) -> Solution:
    """The head that minimizes a problem of very many images.

    Args:
        problem: what is minimized.
        start: where to start; by default at the head of a part of the images.
        tolerance: decrease per image at which to stop, if it is more than chance decides.
    """
    memory, steps, images, value = _Memory(problem.history), 0, problem.images, 0.0
    for level in [problem] if start is not None else _levels(problem):
        inner = level.inner(start)
        memory.scaled(float(np.sqrt(level.images / images)))
        enough = max(tolerance, GAIN * inner.numel() / level.images)
        inner, taken, value = _minimized(level, inner, memory, enough)
        start, images, steps = (
            level.solution(inner, steps + taken, value),
            level.images,
            steps + taken,
        )
    if start is None:
        raise AssertionError  # there is always a level
    return start


def _levels(problem: Scaled) -> list[Scaled]:
    """The problem with few of its images, with more, and itself."""
    levels = [problem]
    while levels[0].images >= 4 * COARSE:
        levels = [levels[0].subset(torch.arange(0, levels[0].images, 4)), *levels]
    return levels


def _minimized(
    problem: Scaled, inner: Tensor, memory: _Memory, tolerance: float
) -> tuple[Tensor, int, float]:
    value, slopes = problem(inner)
    for number in range(STEPS):
        way = memory.direction(slopes, 1 / problem.images)
        promised = -_dot(way, slopes)
        if promised / 2 < tolerance:
            return inner, number, value
        step, there, others = _descended(problem, inner, way, value, promised)
        if there >= value:
            return inner, number, value
        memory.add(step, others - slopes)
        inner, value, slopes = inner + step, there, others
    return inner, STEPS, value


def _descended(
    problem: Scaled, inner: Tensor, way: Tensor, value: float, promised: float
) -> tuple[Tensor, float, Tensor]:
    """Backtracking line search: the new point with its value and gradient."""
    size = 1.0
    for _ in range(_TRIES):
        there, slopes = problem(inner + size * way)
        if there <= value - _ARMIJO * size * promised:
            break
        lowest = 0.5 * promised * size / (there - value + promised * size)
        size *= float(np.clip(np.nan_to_num(lowest), 0.1, 0.5))
    return size * way, there, slopes


def _dot(first: Tensor, second: Tensor) -> float:
    return float((first * second).sum(dtype=torch.float64))
