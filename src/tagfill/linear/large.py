"""Linear heads of very many images: L-BFGS on some of them, then on more, then on all.

The curvature estimated on a subset also holds for more images, so that a few evaluations on all of
them are enough.
"""

from __future__ import annotations

import numpy as np
import torch

from tagfill.linear.lbfgs import Memory, minimized
from tagfill.linear.scaled import Scaled, Solution

COARSE = 10_000
"""Size of the smallest subset; each larger subset has four times as many images."""
GAIN = 1e-4
"""Least gain in log-likelihood of all labels per weight for another step. Noise alone gains about
a half per weight."""


def solve_large(problem: Scaled, start: Solution | None, tolerance: float) -> Solution:
    """The head that minimizes a problem of very many images.

    Args:
        problem: what is minimized.
        start: where to start; by default at the head of a part of the images.
        tolerance: decrease per image at which to stop, if it is more than chance decides.
    """
    memory, steps, images, value = Memory(problem.history), 0, problem.images, 0.0
    for level in [problem] if start is not None else _levels(problem):
        inner = level.inner(start)
        memory.scaled(float(np.sqrt(level.images / images)))
        enough = max(tolerance, GAIN * inner.numel() / level.images)
        inner, taken, value = minimized(level, inner, memory, enough)
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
