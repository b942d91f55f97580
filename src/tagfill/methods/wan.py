"""Weak assume negative: unknown tags are negatives of little weight.

    loss = mean over images and classes of
           -[z=1] log p - [z=0] log(1 - p) - gamma [z unknown] log(1 - p)

Cole et al. 2021 (MLSPL), Sec. 5.1, with gamma = 1 / (K - 1): all assumed negatives of an image
weigh together as much as its single positive. The published code computes the same. The paper has
no known negatives; here they keep their full weight, since only assumptions deserve doubt.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from tagfill.losses.assume import weak_negative
from tagfill.methods._settings import require_range
from tagfill.methods.base import CellMethod, Info, Method

INFO = Info(title="Weak assume negative (WAN)", source="Cole et al. 2021 (MLSPL), Sec. 5.1")


@dataclass(frozen=True)
class Config:
    """Hyper-parameters.

    Args:
        gamma: weight of an assumed negative; "auto" is 1 / (K - 1).
    """

    gamma: float | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        if self.gamma != "auto":
            require_range("gamma", self.gamma, 0, 1)


def build(config: Config) -> Method:
    """Make the method."""
    gamma = None if config.gamma == "auto" else config.gamma
    return CellMethod("wan", partial(weak_negative, gamma=gamma))
