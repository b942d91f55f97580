"""Binary cross-entropy with label smoothing on the full labels.

    loss = mean over images and classes of -t log p - (1 - t) log(1 - p),
    t = 1 - eps / 2 where y=1, eps / 2 where y=0

Cole et al. 2021 (MLSPL), Table 1 ("BCE-LS"), with eps = 0.1 as in their Eq. 9. An oracle where
labels were masked; otherwise as ``bce`` says.

Published code: smooths by 0.1 where the equation has eps / 2 = 0.05; the preset ``published`` has
eps = 0.2, which is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tagfill.losses.assume import ignore_unknown_smoothed
from tagfill.methods._settings import require_range
from tagfill.methods.base import Info, Method, Needs
from tagfill.methods.bce import Oracle

INFO = Info(
    title="Binary cross-entropy with label smoothing (oracle where labels are masked)",
    source="Cole et al. 2021 (MLSPL), Table 1",
    needs=Needs(truth=True, negatives=True),
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
    return Oracle("bce_ls", partial(ignore_unknown_smoothed, eps=config.eps))
