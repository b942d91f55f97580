"""Large loss, permanent correction: assumed negatives hardest to learn become positive for good.

    loss = mean over images and classes of -[z=1] log p - [z!=1] log(1 - p), in which from the
           second epoch on the ceil(B K delta) unknown cells of the batch with the largest loss
           become positive

Kim et al. 2022 (Large Loss Matters), LL-Cp; B images in the batch, K classes. A corrected cell is
positive in this step and all later ones. Only unknown cells are ranked: observed negatives stay.

As released the code compares strings by identity and runs LL-Ct instead; the authors' later code
(BoostLU) mends that and is what is meant here. It corrects every cell that ties with the last
chosen one; here exactly the count. The presets ``voc``, ``coco``, ``nus`` and ``cub`` are the
authors' best values; the default is that of VOC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from tagfill.losses.large_loss import large_loss_correction, modified_count
from tagfill.losses.selection import largest_unknown
from tagfill.methods._settings import require_range
from tagfill.methods.base import Info, LossTerms, Method, Needs, Setup, Step, require_positives

INFO = Info(
    title="Large loss, permanent correction",
    source="Kim et al. 2022 (Large Loss Matters), LL-Cp",
    needs=Needs(state=True),
)


@dataclass(frozen=True)
class Config:
    """Settings of large loss, permanent correction.

    Args:
        delta: share of a batch's cells that become positive in each step.
    """

    delta: float = 0.001

    def __post_init__(self) -> None:
        require_range("delta", self.delta, 0, 1)


PRESETS = {
    "voc": Config(delta=0.001),
    "coco": Config(delta=0.002),
    "nus": Config(delta=0.002),
    "cub": Config(delta=0.002),
}


class PermanentCorrection(Method):
    """Assume negative, with a growing set of corrected cells."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def start(self, setup: Setup) -> None:
        """Begin with no cell corrected."""
        require_positives(setup.observed, "ll_cp")
        self.observed = setup.observed.to(setup.device)
        self.corrected = torch.zeros(self.observed.shape, dtype=torch.bool, device=setup.device)

    def loss(self, step: Step) -> LossTerms:
        """One term, the mean over all cells."""
        cells = large_loss_correction(
            step.output.logits, self._labels(step), count=self._count(step)
        )
        return {"ll_cp": cells.mean()}

    def after_step(self, step: Step) -> None:
        """Keep this step's corrections."""
        chosen = largest_unknown(step.output.logits, self._labels(step), self._count(step))
        rows, classes = torch.nonzero(chosen, as_tuple=True)
        self.corrected[step.index[rows], classes] = True

    def _labels(self, step: Step) -> Tensor:
        return torch.where(self.corrected[step.index], 1, step.observed)

    def _count(self, step: Step) -> int:
        cells = step.output.logits.numel()
        return modified_count(cells, self.config.delta) if step.epoch > 1 else 0

    def state(self) -> dict[str, Tensor]:
        """Which cells were corrected."""
        return {"corrected": self.corrected}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Restore them."""
        self.corrected = state["corrected"].to(self.corrected)

    def estimates(self) -> Tensor:
        """The labels trained on: 1 where corrected, 0 where unknown."""
        return torch.where(self.corrected, 1, self.observed).clamp(min=0).float()

    def pseudo_labels(self) -> Tensor:
        """Positive where corrected."""
        return torch.where(self.corrected, 1, torch.full_like(self.observed, -1))


def build(config: Config) -> Method:
    """Make the method."""
    return PermanentCorrection(config)
