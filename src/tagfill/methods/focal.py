"""Focal loss: tags the network already gets right count less; unknown is taken for negative.

    loss = mean over images and classes of -[z=1] (1 - p)^gamma log p - [z!=1] p^gamma log(1 - p)

Lin et al. 2017, without its class weight; compared in Zhou et al. 2022 (EM + APL), Table 1, whose
code for it is not published. Gamma 2 is Lin's value and that of the multi-label code of Ridnik et
al. 2021 and Zhang et al. 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tagfill.losses.focusing import focal
from tagfill.methods._settings import require_range
from tagfill.methods.base import CellMethod, Info, Method

INFO = Info(title="Focal loss", source="Lin et al. 2017; Zhou et al. 2022 (EM + APL), Table 1")


@dataclass(frozen=True)
class Config:
    """Settings of the focal loss.

    Args:
        gamma: how fast easy cells lose weight; 0 is plain ``an``.
    """

    gamma: float = 2.0

    def __post_init__(self) -> None:
        require_range("gamma", self.gamma, 0)


def build(config: Config) -> Method:
    """Make the method."""
    return CellMethod("focal", partial(focal, gamma=config.gamma))
