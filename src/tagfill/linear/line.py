"""The best scale and shift of scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from tagfill.linear.lbfgs import Memory, minimized

TOLERANCE = 1e-8
"""Expected decrease at which to stop."""
STEPS = 15
_MEMORY = 10


@dataclass(frozen=True)
class Line:
    """Scores become exp(log_scale) * score + shift."""

    log_scale: float
    shift: float
    cost: float


@dataclass(frozen=True)
class _Problem:
    cost: Callable[[Tensor], tuple[float, Tensor]]
    images: int = 1

    def __call__(self, inner: Tensor) -> tuple[float, Tensor]:
        return self.cost(inner)


def best_line(cost: Callable[[Tensor], tuple[float, Tensor]]) -> Line:
    """The line of the lowest cost, found from (0, 0): the scores as they are.

    Args:
        cost: of logarithm of the scale and shift [2], with its slopes [2].
    """
    start, memory = torch.zeros(2, dtype=torch.float64), Memory(_MEMORY)
    line, _, lowest = minimized(_Problem(cost), start, memory, TOLERANCE, STEPS)
    return Line(float(line[0]), float(line[1]), lowest)
