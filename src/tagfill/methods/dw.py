"""Down-weighting: assume negative with a fixed smaller weight on what is only assumed.

    loss = mean over images and classes of
           -[z=1] log p - [z=0] log(1 - p) - w [z unknown] log(1 - p)

Zhou et al. 2022 (EM + APL), Table 1 ("DW"): the negative term of their Eq. 1 down-weighted. Neither
the paper nor its code gives w. Ours is the best of 0.05, 0.1, 0.2 and 0.5 on the validation part of
VOC 2012 with single positives and a linear classifier: 84.4, 84.6, 84.5, 84.1 mAP, one run each.
Known negatives keep their full weight. ``wan`` is the same with w = 1 / (K - 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tagfill.losses.assume import weak_negative
from tagfill.methods._settings import require_range
from tagfill.methods.base import CellMethod, Info, Method

INFO = Info(title="Down-weighted negatives (DW)", source="Zhou et al. 2022 (EM + APL), Table 1")


@dataclass(frozen=True)
class Config:
    """Hyper-parameters.

    Args:
        w: weight of an assumed negative.
    """

    w: float = 0.1

    def __post_init__(self) -> None:
        require_range("w", self.w, 0, 1)


def build(config: Config) -> Method:
    """Make the method."""
    return CellMethod("dw", partial(weak_negative, gamma=config.w))
