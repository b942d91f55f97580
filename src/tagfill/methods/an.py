"""Assume negative: every tag nobody wrote is taken for absent.

loss = mean over images and classes of -[z=1] log p - [z!=1] log(1 - p)

Cole et al. 2021 (MLSPL), Eq. 4. The baseline every other method is measured against. The published
code computes the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from tagfill.losses.assume import assume_negative
from tagfill.methods.base import Info, LossTerms, Method, Setup, Step, require_positives

INFO = Info(title="Assume negative", source="Cole et al. 2021 (MLSPL), Eq. 4")


@dataclass(frozen=True)
class Config:
    """Nothing to set."""


class AssumeNegative(Method):
    """Cross-entropy with unknown as negative."""

    def start(self, setup: Setup) -> None:
        """Refuse labels without positives."""
        require_positives(setup.observed, "an")

    def loss(self, step: Step) -> LossTerms:
        """One term, the mean over all cells."""
        return {"an": assume_negative(step.output.logits, step.observed).mean()}


def build(config: Config) -> Method:
    """Make the method."""
    return AssumeNegative()
