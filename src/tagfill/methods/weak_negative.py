"""Assume negative with less weight on what is only assumed.

loss = mean over images and classes of
       -[z=1] log p - [z=0] log(1 - p) - w [z unknown] log(1 - p)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from tagfill.losses.assume import weak_negative
from tagfill.methods._settings import Settings, setting
from tagfill.methods.base import ElementwiseMethod, Info, Method, NamedMethod


@dataclass(frozen=True)
class WanConfig(Settings):
    gamma: float | Literal["auto"] = setting(
        "auto", 'weight of an assumed negative; "auto" is 1 / (K - 1)', 0, 1
    )


@dataclass(frozen=True)
class DwConfig(Settings):
    w: float = setting(0.1, "weight of an assumed negative", 0, 1)


def _weak(name: str, weight: float | str) -> Method:
    gamma = None if isinstance(weight, str) else weight
    return ElementwiseMethod(name, partial(weak_negative, gamma=gamma))


METHODS = {
    "wan": NamedMethod(
        Info(title="Weak assume negative (WAN)", source="Cole et al. 2021 (MLSPL), Sec. 5.1"),
        WanConfig,
        lambda config: _weak("wan", config.gamma),
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
        lambda config: _weak("dw", config.w),
        text="""Down-weighting: assume negative with a fixed smaller weight on what is only assumed.

    loss = mean over images and classes of
           -[z=1] log p - [z=0] log(1 - p) - w [z unknown] log(1 - p)

Zhou et al. 2022 (EM + APL), Table 1 ("DW"): the negative term of their Eq. 1 down-weighted. Neither
the paper nor its code gives w. Ours is the best of 0.05, 0.1, 0.2 and 0.5 on the validation part of
VOC 2012 with single positives and a linear classifier: 84.4, 84.6, 84.5, 84.1 mAP, one run each.
Known negatives keep their full weight. ``wan`` is the same with w = 1 / (K - 1).""",
    ),
}
