"""What the large-loss methods without memory share."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from tagfill.losses.large_loss import modified_count
from tagfill.methods.base import LossTerms, Method, Setup, Step, require_positives


class Modified(Protocol):
    """A loss that treats ``count`` unknown cells of the batch specially."""

    def __call__(self, logits: Tensor, observed: Tensor, *, count: int) -> Tensor:
        """[B, K] terms."""


class GrowingLargeLoss(Method):
    """Assume negative, more and more cells of large loss modified from the second epoch on.

    Args:
        name: of the method.
        cells: the modified loss.
        delta: by how much the modified share of cells grows each epoch.
    """

    def __init__(self, name: str, cells: Modified, delta: float) -> None:
        self.name, self.cells, self.delta = name, cells, delta

    def start(self, setup: Setup) -> None:
        """Refuse labels without positives."""
        require_positives(setup.observed, self.name)

    def loss(self, step: Step) -> LossTerms:
        """One term, the mean over all cells."""
        logits = step.output.logits
        count = modified_count(logits.numel(), min(self.delta * (step.epoch - 1), 1.0))
        return {self.name: self.cells(logits, step.observed, count=count).mean()}
