"""Large loss, rejection: the assumed negatives hardest to learn are left out.

    loss = mean over images and classes of -[z=1] log p - [z!=1] log(1 - p), in which the
           ceil(B K (t - 1) delta) unknown cells of the batch with the largest loss
           are left out of the loss

Kim et al. 2022 (Large Loss Matters), LL-R; B images in the batch, K classes, epoch t from 1, so
that the first epoch is plain ``an``. Only unknown cells are ranked: observed negatives stay.

The published code modifies every cell that ties with the last chosen one, and all cells where the
count exceeds those with a loss; here exactly the count, at most the unknown ones. The presets
``voc``, ``coco``, ``nus`` and ``cub`` are the authors' best values; the default is that of VOC.
"""

from __future__ import annotations

from dataclasses import dataclass

from tagfill.losses.large_loss import large_loss_rejection
from tagfill.methods._large_loss import GrowingLargeLoss
from tagfill.methods._settings import require_range
from tagfill.methods.base import Info, Method

INFO = Info(title="Large loss, rejection", source="Kim et al. 2022 (Large Loss Matters), LL-R")


@dataclass(frozen=True)
class Config:
    """Settings of large loss, rejection.

    Args:
        delta: by how much the modified share of cells grows each epoch.
    """

    delta: float = 0.002

    def __post_init__(self) -> None:
        require_range("delta", self.delta, 0, 1)


PRESETS = {
    "voc": Config(delta=0.002),
    "coco": Config(delta=0.004),
    "nus": Config(delta=0.004),
    "cub": Config(delta=0.004),
}


def build(config: Config) -> Method:
    """Make the method."""
    return GrowingLargeLoss("ll_r", large_loss_rejection, config.delta)
