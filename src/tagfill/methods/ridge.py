"""Ridge: least squares in closed form, what nobody wrote counted as absent.

    minimize sum of (w . x + b - [z=1])^2 + lambda |w|^2,    logit = 4 (w . x + b) - 2

Hoerl and Kennard 1970. A linear head on fixed features is found in closed form; lambda is the one
with the least leave-one-out error on the observed labels, which has a closed form too (Allen 1974,
PRESS). No epochs, no learning rate, no validation labels. The logit is the line that touches the
logistic curve at 1/2. In the training loop (fine-tuning, other heads) the same squares are the loss
and weight decay is the penalty. Known negatives are like assumed ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from tagfill.linear.basis import rooted
from tagfill.linear.problem import LinearProblem, LinearWeights
from tagfill.linear.regions import whole_blocks
from tagfill.linear.ridge import ridge
from tagfill.methods._settings import Settings, setting
from tagfill.methods.base import ElementwiseMethod, Info, Needs

INFO = Info(
    title="Least squares in closed form (ridge)",
    source="Hoerl and Kennard 1970; Allen 1974",
    needs=Needs(solver=True),
)


@dataclass(frozen=True)
class Config(Settings):
    strength: float | Literal["auto"] = setting(
        "auto",
        'of the penalty, relative to the features\' mean sum of squares; "auto" takes the one '
        "with the least leave-one-out error",
        0,
    )


class Ridge(ElementwiseMethod):
    """Squared errors of entries, or their minimum in closed form."""

    def __init__(self, config: Config) -> None:
        super().__init__("ridge", _squares)
        self.config = config

    def solve(self, problem: LinearProblem) -> LinearWeights:
        wanted = self.config.strength if problem.l2 is None else problem.l2
        roots = problem.transforms[0] == "roots"

        def rows() -> Iterator[tuple[Tensor, Tensor]]:
            for some, block in whole_blocks(problem.features):
                yield rooted(block) if roots else block, problem.observed[some] == 1

        family, strength = ridge(rows, None if isinstance(wanted, str) else wanted)
        weight, bias = family.head(strength)
        transform = "roots" if roots else "plain"
        loss = family.loss(strength)
        return LinearWeights(
            (4 * weight).float(),
            (4 * bias - 2).float(),
            roots=roots,
            details={"strength": strength, "transform": transform, "loss": loss},
            note=f"ridge: strength {strength:.2g}, least leave-one-out error",
        )


def _squares(logits: Tensor, observed: Tensor) -> Tensor:
    """(p - [z=1])^2 with p = (logit + 2) / 4."""
    return ((logits + 2) / 4 - (observed == 1).to(logits)).square()


build = Ridge
