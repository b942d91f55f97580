"""Assume negative with a penalty on the weights of the classification head.

    loss = mean over images and classes of (-[z=1] log p - [z!=1] log(1 - p)) + weight x penalty,
    penalty = sum of |w| (``l1r``) or of w^2 (``l2r``)

Compared in Zhou et al. 2022 (EM + APL), Table 1 ("L1R", "L2R"), whose code for it is not published.
Which weights are penalized and how much is not said there: the head's, and 1e-5 and 1e-4, are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from tagfill.losses.assume import assume_negative
from tagfill.methods._settings import Settings, setting
from tagfill.methods.base import Info, LossTerms, Method, NamedMethod, Step

SOURCE = "Zhou et al. 2022 (EM + APL), Table 1"


@dataclass(frozen=True)
class L1Config(Settings):
    weight: float = setting(1e-5, "of the penalty; ours", 0)


@dataclass(frozen=True)
class L2Config(L1Config):
    weight: float = setting(1e-4, "of the penalty; ours")


class Penalized(Method):
    """Assume negative, and small weights."""

    def __init__(self, name: str, norm: Callable[[Tensor], Tensor], weight: float) -> None:
        self.name, self.norm, self.weight = name, norm, weight

    def loss(self, step: Step) -> LossTerms:
        """The mean over all entries, and the penalty."""
        terms = assume_negative(step.output.logits, step.observed)
        penalty = sum((self.norm(matrix) for matrix in step.weights), start=terms.new_zeros(()))
        return {"an": terms.mean(), "penalty": self.weight * penalty}


def _l1(config: L1Config) -> Method:
    return Penalized("l1r", lambda matrix: matrix.abs().sum(), config.weight)


def _l2(config: L2Config) -> Method:
    return Penalized("l2r", lambda matrix: matrix.square().sum(), config.weight)


METHODS = {
    "l1r": NamedMethod(Info("Assume negative with l1 regularization", SOURCE), L1Config, _l1),
    "l2r": NamedMethod(Info("Assume negative with l2 regularization", SOURCE), L2Config, _l2),
}
