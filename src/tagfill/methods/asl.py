"""Asymmetric loss: negatives lose weight faster than positives, and easy ones drop out.

    loss = mean over images and classes of
           -[z=1] (1 - p)^g+ log p - [z!=1] q^g- log(1 - q),  q = max(p - margin, 0)

Ridnik et al. 2021 (ASL), with g+ 0, g- 4, margin 0.05; compared in Zhou et al. 2022 (EM + APL),
Table 1. Unknown is taken for negative. Cells with p below the margin have no loss and no gradient.

The published training script lets no gradient through the focal weights, raises probabilities to
1e-8 inside logarithms and sums over the batch instead of taking the mean (``detach_weight``,
``eps``, ``reduction``; preset ``published``). The sum is larger by the number of cells, which Adam
hides and weight decay does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tagfill.losses.focusing import asymmetric
from tagfill.methods._settings import Reduction, reduced, require_range, require_reduction
from tagfill.methods.base import CellMethod, Info, Method

INFO = Info(title="Asymmetric loss", source="Ridnik et al. 2021 (ASL); Zhou et al. 2022, Table 1")


@dataclass(frozen=True)
class Config:
    """Settings of the asymmetric loss.

    Args:
        gamma_positive: g+.
        gamma_negative: g-.
        margin: negatives with p below it cost nothing.
        detach_weight: no gradient flows through the focal weights.
        eps: probabilities inside logarithms are raised to it.
        reduction: "mean" or "sum" over the batch.
    """

    gamma_positive: float = 0.0
    gamma_negative: float = 4.0
    margin: float = 0.05
    detach_weight: bool = False
    eps: float = 0.0
    reduction: Reduction = "mean"

    def __post_init__(self) -> None:
        require_range("gamma_positive", self.gamma_positive, 0)
        require_range("gamma_negative", self.gamma_negative, 0)
        require_range("margin", self.margin, 0, 1)
        require_reduction(self.reduction)


PRESETS = {"published": Config(detach_weight=True, eps=1e-8, reduction="sum")}


def build(config: Config) -> Method:
    """Make the method."""
    cells = partial(
        asymmetric,
        gamma_positive=config.gamma_positive,
        gamma_negative=config.gamma_negative,
        margin=config.margin,
        detach_weight=config.detach_weight,
        eps=config.eps,
    )
    return CellMethod("asl", reduced(cells, config.reduction))
