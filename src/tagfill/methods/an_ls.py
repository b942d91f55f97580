"""Assume negative with label smoothing: no target is quite 0 or 1.

    loss = mean over images and classes of -t log p - (1 - t) log(1 - p),
    t = 1 - eps / 2 where z=1, else eps / 2

Cole et al. 2021 (MLSPL), Eq. 9, with eps = 0.1. Known negatives are smoothed like assumed ones.

Published code: smooths by 0.1 where the equation has eps / 2 = 0.05, twice as much; the preset
``published`` has eps = 0.2, which is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tagfill.losses.assume import assume_negative_smoothed
from tagfill.methods._settings import require_range
from tagfill.methods.base import CellMethod, Info, Method

INFO = Info(
    title="Assume negative with label smoothing (AN-LS)", source="Cole et al. 2021 (MLSPL), Eq. 9"
)


@dataclass(frozen=True)
class Config:
    """Hyper-parameters.

    Args:
        eps: smoothing; the targets are 1 - eps / 2 and eps / 2.
    """

    eps: float = 0.1

    def __post_init__(self) -> None:
        require_range("eps", self.eps, 0, 1)


PRESETS = {"published": Config(eps=0.2)}


def build(config: Config) -> Method:
    """Make the method."""
    return CellMethod(
        "an_ls", partial(assume_negative_smoothed, eps_p=config.eps, eps_n=config.eps)
    )
