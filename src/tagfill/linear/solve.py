"""Linear heads by full-batch L-BFGS: no epochs, no learning rate, the same bytes every time."""

from __future__ import annotations

from torch import Tensor

from tagfill.linear.basis import Basis
from tagfill.linear.large import solve_large
from tagfill.linear.lbfgs import Memory, minimized
from tagfill.linear.objective import Likelihood, Objective, information
from tagfill.linear.scaled import Scaled, Solution

__all__ = ["Likelihood", "Objective", "Solution", "information", "solve"]


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
        tolerance: expected decrease per image at which to stop.
    """
    problem = Scaled(basis, objective, strength, rows)
    if basis.streams:
        return solve_large(problem, start, tolerance)
    memory = Memory(problem.history)
    return problem.solution(*minimized(problem, problem.inner(start), memory, tolerance))
