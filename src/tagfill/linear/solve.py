"""Full-batch L-BFGS for linear heads: the same bytes every time, in a dozen steps."""

from __future__ import annotations

from inspect import unwrap

import torch
from torch import Tensor

from tagfill.linear.basis import Basis
from tagfill.linear.large import solve_large
from tagfill.linear.objective import Likelihood, Objective, information
from tagfill.linear.scaled import ENTRIES, Scaled, Solution

__all__ = ["ENTRIES", "Likelihood", "Objective", "Solution", "information", "solve"]

STEPS = 200


class _Solver(torch.optim.LBFGS):
    """Without torch's compiler, which making an optimizer imports: that takes longer than a fit."""

    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)


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
    problem = Scaled(basis, objective, strength, rows)
    if basis.streams:
        return solve_large(problem, start, tolerance)
    inner = problem.inner(start)
    solver = _Solver(
        [inner],
        max_iter=STEPS,
        tolerance_grad=1e-7,
        tolerance_change=tolerance,
        history_size=problem.history,
        line_search_fn="strong_wolfe",
    )

    def evaluate() -> Tensor:
        value, inner.grad = problem(inner)
        return torch.tensor(value, dtype=torch.float64)

    solver.step(evaluate)  # type: ignore[no-untyped-call]
    return problem.solution(inner, int(solver.state[inner]["n_iter"]), problem(inner)[0])
