"""Assume negative with a penalty on the weights of the classification head."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from tagfill.losses.assume import assume_negative
from tagfill.methods.base import LossTerms, Method, Setup, Step, require_positives


class Penalized(Method):
    """Assume negative, and small weights.

    Args:
        name: of the method.
        norm: what one weight matrix costs.
        weight: of the penalty.
    """

    def __init__(self, name: str, norm: Callable[[Tensor], Tensor], weight: float) -> None:
        self.name, self.norm, self.weight = name, norm, weight

    def start(self, setup: Setup) -> None:
        """Refuse labels without positives."""
        require_positives(setup.observed, self.name)

    def loss(self, step: Step) -> LossTerms:
        """The mean over all cells, and the penalty."""
        cells = assume_negative(step.output.logits, step.observed)
        penalty = sum((self.norm(each) for each in step.weights), start=cells.new_zeros(()))
        return {"an": cells.mean(), "penalty": self.weight * penalty}
