"""Assume negative with an l1 penalty on the weights of the classification head.

    loss = mean over images and classes of (-[z=1] log p - [z!=1] log(1 - p)) + weight x sum of |w|

Compared in Zhou et al. 2022 (EM + APL), Table 1 ("L1R"), whose code for it is not published. Which
weights are penalized and how much is not said there: the head's, and 1e-5, are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

from tagfill.methods._penalized import Penalized
from tagfill.methods._settings import require_range
from tagfill.methods.base import Info, Method

INFO = Info(
    title="Assume negative with l1 regularization",
    source="Zhou et al. 2022 (EM + APL), Table 1",
)


@dataclass(frozen=True)
class Config:
    """Settings of l1 regularization.

    Args:
        weight: of the penalty; ours.
    """

    weight: float = 1e-5

    def __post_init__(self) -> None:
        require_range("weight", self.weight, 0)


def build(config: Config) -> Method:
    """Make the method."""
    return Penalized("l1r", lambda each: each.abs().sum(), config.weight)
