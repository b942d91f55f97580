"""Pseudo-negative sampling: at every visit one unknown tag of an image counts as absent.

    loss = mean over images and classes of -[z=1] log p - ([z=0] + eta) log(1 - p),
    eta = 1 for one unknown entry of each image, drawn uniformly again at every visit

Cole et al. 2021 (MLSPL), Sec. 5.1, "Connection to pseudo-negative sampling". In expectation it is
``wan``; the noise of the draw is what differs. Not in the published code. Known negatives count as
such and are not drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

from tagfill.losses.assume import sample_unknown, sampled_negative
from tagfill.methods.base import Info, LossTerms, Method, Step

INFO = Info(title="Pseudo-negative sampling", source="Cole et al. 2021 (MLSPL), Sec. 5.1")


@dataclass(frozen=True)
class Config:
    """Nothing to set."""


class PseudoNegative(Method):
    """Draws again at every step."""

    def loss(self, step: Step) -> LossTerms:
        chosen = sample_unknown(step.observed, step.generator)
        return {
            "pseudo_negative": sampled_negative(step.output.logits, step.observed, chosen).mean()
        }


def build(config: Config) -> Method:
    return PseudoNegative()
