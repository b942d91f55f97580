"""A linear problem as methods get it, and its solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from tagfill.linear.basis import TRANSFORMS, Basis, Transform
from tagfill.linear.regions import Features, whole
from tagfill.linear.solve import solve


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """Features and labels of all training images.

    Args:
        features: [N, D], or [N, D, H, W] by regions.
        observed: [N, K] labels 1, 0, -1.
        truth: [N, K] full labels behind masked ones, for oracles.
        transforms: what may be done to the features.
        l2: strength of the penalty on weights; None leaves it to the method.
        seed: of folds.
        reviewed: [N, K] entries that a review answered, where that is recorded.
    """

    features: Features
    observed: Tensor
    truth: Tensor | None = None
    transforms: tuple[Transform, ...] = TRANSFORMS
    l2: float | None = None
    seed: int = 0
    reviewed: Tensor | None = None


@dataclass(frozen=True, eq=False)
class LinearWeights:
    """A linear head.

    Args:
        weight: [K, D] on the features, or their signed square roots of unit length.
        bias: [K].
        roots: whether the weights are for the roots of the features.
        details: what was chosen, as plain values; "loss" is what was minimized, "steps" those of
            the solver where it is no closed form.
        note: the same as a sentence.
    """

    weight: Tensor
    bias: Tensor
    roots: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)
    note: str | None = None


@dataclass(frozen=True, eq=False)
class Elementwise:
    """An objective made of a loss of single entries, its slopes by automatic differentiation.

    Args:
        terms: (logits [n, K], labels [n, K]) -> [n, K].
        labels: [N, K].
    """

    terms: Callable[[Tensor, Tensor], Tensor]
    labels: Tensor

    @property
    def classes(self) -> int:
        """K."""
        return self.labels.shape[1]

    def __call__(self, logits: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
        """Terms and derivatives of some rows."""
        with torch.enable_grad():
            leaf = logits.detach().requires_grad_()
            terms = self.terms(leaf, self.labels[rows]).sum(1)
            (slopes,) = torch.autograd.grad(terms.sum(), leaf)
        return terms.detach(), slopes

    def subset(self, rows: Tensor) -> Elementwise:
        """The same of some of the images."""
        return Elementwise(self.terms, self.labels[rows])

    def start(self) -> Tensor:
        """[K] log odds of the positives."""
        positives = (self.labels == 1).sum(0).double()
        return torch.logit((positives + 0.5) / (len(self.labels) + 1))


def solve_elementwise(
    problem: LinearProblem, labels: Tensor, terms: Callable[[Tensor, Tensor], Tensor]
) -> LinearWeights | None:
    """The head that minimizes a loss of entries plus the L2 penalty, where one is asked for."""
    if problem.l2 is None:
        return None
    basis = Basis.of(whole(problem.features))
    solution = solve(basis, Elementwise(terms, labels), problem.l2)
    weight, bias = basis.head(solution.weight, solution.bias)
    details = {"l2": problem.l2, "steps": solution.steps, "loss": solution.loss}
    return LinearWeights(weight.float(), bias.float(), details=details)
