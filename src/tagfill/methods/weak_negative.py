"""Assume negative with less weight on what is only assumed.

loss = mean over images and classes of
       -[z=1] log p - [z=0] log(1 - p) - w [z unknown] log(1 - p)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from tagfill.losses.assume import weak_negative
from tagfill.methods._settings import require_range
from tagfill.methods.base import ElementwiseMethod, Info, Method, NamedMethod


@dataclass(frozen=True)
class WanConfig:
    """Hyper-parameters.

    Args:
        gamma: weight of an assumed negative; "auto" is 1 / (K - 1).
    """

    gamma: float | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        if self.gamma != "auto":
            require_range("gamma", self.gamma, 0, 1)


@dataclass(frozen=True)
class DwConfig:
    """Hyper-parameters.

    Args:
        w: weight of an assumed negative.
    """

    w: float = 0.1

    def __post_init__(self) -> None:
        require_range("w", self.w, 0, 1)


def _wan(config: WanConfig) -> Method:
    gamma = None if config.gamma == "auto" else config.gamma
    return ElementwiseMethod("wan", partial(weak_negative, gamma=gamma))


def _dw(config: DwConfig) -> Method:
    return ElementwiseMethod("dw", partial(weak_negative, gamma=config.w))


METHODS = {
    "wan": NamedMethod(
        Info(title="Weak assume negative (WAN)", source="Cole et al. 2021 (MLSPL), Sec. 5.1"),
        WanConfig,
        _wan,
        text="""Weak assume negative: unknown tags are negatives of little weight.

    loss = mean over images and classes of
           -[z=1] log p - [z=0] log(1 - p) - gamma [z unknown] log(1 - p)

Cole et al. 2021 (MLSPL), Sec. 5.1, with gamma = 1 / (K - 1): all assumed negatives of an image
weigh together as much as its single positive. The published code computes the same. The paper has
no known negatives; here they keep their full weight, since only assumptions deserve doubt.""",
    ),
    "dw": NamedMethod(
        Info(title="Down-weighted negatives (DW)", source="Zhou et al. 2022 (EM + APL), Table 1"),
        DwConfig,
        _dw,
        text="""Down-weighting: assume negative with a fixed smaller weight on what is only assumed.

    loss = mean over images and classes of
           -[z=1] log p - [z=0] log(1 - p) - w [z unknown] log(1 - p)

Zhou et al. 2022 (EM + APL), Table 1 ("DW"): the negative term of their Eq. 1 down-weighted. Neither
the paper nor its code gives w. Ours is the best of 0.05, 0.1, 0.2 and 0.5 on the validation part of
VOC 2012 with single positives and a linear classifier: 84.4, 84.6, 84.5, 84.1 mAP, one run each.
Known negatives keep their full weight. ``wan`` is the same with w = 1 / (K - 1).""",
    ),
}
