"""Binary cross-entropy on the full labels: what training could reach if nothing were missing.

    loss = mean over images and classes of -[y=1] log p - [y=0] log(1 - p)

Cole et al. 2021 (MLSPL), Eq. 5. Where labels were masked this is an oracle: it trains on the truth
behind them. Where there is no separate truth it trains on the labels as they are; entries that are
unknown even then count nothing, and the mean is over the known entries of the batch. The published
code computes the same on full labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from tagfill.linear.problem import LinearProblem, LinearWeights, solve_elementwise
from tagfill.losses.assume import ignore_unknown
from tagfill.methods.base import Info, LossTerms, Method, Needs, Step

INFO = Info(
    title="Binary cross-entropy on full labels (oracle where labels are masked)",
    source="Cole et al. 2021 (MLSPL), Eq. 5",
    needs=Needs(truth=True, negatives=True),
)


@dataclass(frozen=True)
class Config:
    """Nothing to set."""


class Oracle(Method):
    """The mean over known entries of a pure loss of the full labels.

    Args:
        name: of the method and of its only term.
        terms: (logits [B, K], labels [B, K]) -> [B, K], 0 at unknown entries.
    """

    def __init__(self, name: str, terms: Callable[[Tensor, Tensor], Tensor]) -> None:
        self.name, self.terms = name, terms

    def loss(self, step: Step) -> LossTerms:
        labels = step.observed if step.truth is None else step.truth
        known = (labels >= 0).sum().clamp(min=1)
        return {self.name: self.terms(step.output.logits, labels).sum() / known}

    def solve(self, problem: LinearProblem) -> LinearWeights | None:
        """By L-BFGS, if an L2 penalty is set."""
        labels = problem.observed if problem.truth is None else problem.truth
        return solve_elementwise(problem, labels, self.terms)


def build(config: Config) -> Method:
    return Oracle("bce", ignore_unknown)
