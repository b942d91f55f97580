"""Assume negative with label smoothing of its own for positives and for negatives.

    loss = mean over images and classes of -t log p - (1 - t) log(1 - p),
    t = 1 - eps_p / 2 where z=1, else eps_n / 2

Cole et al. 2021 (MLSPL), supplement A, whose experiments use (0, 0.1): written positives are
trusted, assumed negatives are not. Known negatives are smoothed like assumed ones. The published
code has no such loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tagfill.losses.assume import assume_negative_smoothed
from tagfill.methods._settings import require_range
from tagfill.methods.base import CellMethod, Info, Method

INFO = Info(
    title="Assume negative with asymmetric label smoothing",
    source="Cole et al. 2021 (MLSPL), supplement A, AN-LS(eps_p, eps_n)",
)


@dataclass(frozen=True)
class Config:
    """Hyper-parameters.

    Args:
        eps_p: smoothing of positives; their target is 1 - eps_p / 2.
        eps_n: smoothing of negatives; their target is eps_n / 2.
    """

    eps_p: float = 0.0
    eps_n: float = 0.1

    def __post_init__(self) -> None:
        require_range("eps_p", self.eps_p, 0, 1)
        require_range("eps_n", self.eps_n, 0, 1)


def build(config: Config) -> Method:
    """Make the method."""
    return CellMethod(
        "an_ls_asymmetric",
        partial(assume_negative_smoothed, eps_p=config.eps_p, eps_n=config.eps_n),
    )
