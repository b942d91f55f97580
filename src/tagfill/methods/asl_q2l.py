"""Simplified asymmetric focal loss of Query2Label: no margin, gentle focus on negatives.

    loss = scale x mean over images and classes of -[z=1] (1 - p)^g+ log p - [z!=1] p^g- log(1 - p)

Liu et al. 2021 (Query2Label), with g+ 0 and g- 1; Eq. 11 of the reproduction by Islam et al., which
prints it without the minus. Made for full labels; unknown is taken for negative.

The published code and its README have g- 2, raise probabilities to 1e-5 inside logarithms, let no
gradient through the focal weights and multiply the mean by 1000 (``gamma_negative``, ``eps``,
``detach_weight``, ``scale``; preset ``published``).
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from tagfill.losses.focusing import asymmetric
from tagfill.methods._settings import require_range
from tagfill.methods.base import CellMethod, Info, Method

INFO = Info(
    title="Simplified asymmetric loss of Query2Label",
    source="Liu et al. 2021 (Query2Label); Islam et al., Eq. 11",
)


@dataclass(frozen=True)
class Config:
    """Settings of Query2Label's asymmetric loss.

    Args:
        gamma_positive: g+.
        gamma_negative: g-.
        detach_weight: no gradient flows through the focal weights.
        eps: probabilities inside logarithms are raised to it.
        scale: factor on the loss.
    """

    gamma_positive: float = 0.0
    gamma_negative: float = 1.0
    detach_weight: bool = False
    eps: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        require_range("gamma_positive", self.gamma_positive, 0)
        require_range("gamma_negative", self.gamma_negative, 0)


PRESETS = {"published": Config(gamma_negative=2.0, detach_weight=True, eps=1e-5, scale=1000.0)}


def build(config: Config) -> Method:
    """Make the method."""

    def cells(logits: Tensor, observed: Tensor) -> Tensor:
        return config.scale * asymmetric(
            logits,
            observed,
            gamma_positive=config.gamma_positive,
            gamma_negative=config.gamma_negative,
            detach_weight=config.detach_weight,
            eps=config.eps,
        )

    return CellMethod("asl_q2l", cells)
