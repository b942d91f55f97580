"""Large loss: the assumed negatives hardest to learn are treated as hidden positives.

    loss = mean over images and classes of -[z=1] log p - [z!=1] log(1 - p), in which unknown
           entries of the batch with the largest loss, from the second epoch on,
           ll_r:  ceil(B K (t - 1) delta) of them, are left out of the loss
           ll_ct: ceil(B K (t - 1) delta) of them, count as positive for this step
           ll_cp: ceil(B K delta) of them, become positive for good

Kim et al. 2022 (Large Loss Matters), LL-R, LL-Ct and LL-Cp; B images in the batch, K classes, epoch
t from 1, so that the first epoch is plain ``an``. Only unknown entries are ranked: observed
negatives stay.

The published code modifies every entry that ties with the last chosen one, and all entries where
the count exceeds those with a loss; here exactly the count, at most the unknown ones. As released
it compares strings by identity and runs LL-Ct for LL-Cp; the authors' later code (BoostLU) fixes
that and is what is meant here. The presets ``voc``, ``coco``, ``nus`` and ``cub`` are the authors'
best values; the default is that of VOC.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor

from tagfill.losses.selection import (
    large_loss_correction,
    large_loss_rejection,
    largest_unknown,
    modified_count,
)
from tagfill.methods._settings import Settings, setting
from tagfill.methods.base import LossTerms, Method, NamedMethod, Needs, Setup, Step

T = TypeVar("T")


@dataclass(frozen=True)
class GrowingConfig(Settings):
    delta: float = setting(
        0.002, "by how much the modified share of the batch's entries grows each epoch", 0, 1
    )


@dataclass(frozen=True)
class PermanentConfig(Settings):
    delta: float = setting(
        0.001, "share of a batch's entries that become positive in each step", 0, 1
    )


class GrowingLargeLoss(Method):
    """Assume negative, more and more entries of large loss modified from the second epoch on.

    Args:
        modified: a loss that treats ``count`` unknown entries of the batch specially.
    """

    def __init__(self, name: str, modified: Callable[..., Tensor], config: GrowingConfig) -> None:
        self.name, self.modified, self.delta = name, modified, config.delta

    def loss(self, step: Step) -> LossTerms:
        logits = step.output.logits
        count = modified_count(logits.numel(), min(self.delta * (step.epoch - 1), 1.0))
        return {self.name: self.modified(logits, step.observed, count=count).mean()}


class PermanentCorrection(Method):
    """Assume negative, with a growing set of corrected entries."""

    kept = ("corrected",)

    def __init__(self, config: PermanentConfig) -> None:
        self.config = config

    def start(self, setup: Setup) -> None:
        super().start(setup)
        self.observed = setup.observed.to(setup.device)
        self.corrected = torch.zeros(self.observed.shape, dtype=torch.bool, device=setup.device)

    def loss(self, step: Step) -> LossTerms:
        terms = large_loss_correction(
            step.output.logits, self._labels(step), count=self._count(step)
        )
        return {"ll_cp": terms.mean()}

    def after_step(self, step: Step) -> None:
        chosen = largest_unknown(step.output.logits, self._labels(step), self._count(step))
        rows, classes = torch.nonzero(chosen, as_tuple=True)
        self.corrected[step.index[rows], classes] = True

    def _labels(self, step: Step) -> Tensor:
        return torch.where(self.corrected[step.index], 1, step.observed)

    def _count(self, step: Step) -> int:
        entries = step.output.logits.numel()
        return modified_count(entries, self.config.delta) if step.epoch > 1 else 0

    def estimates(self) -> Tensor:
        """The labels trained on: 1 where corrected, 0 where unknown."""
        return torch.where(self.corrected, 1, self.observed).clamp(min=0).float()

    def pseudo_labels(self) -> Tensor:
        return torch.where(self.corrected, 1, torch.full_like(self.observed, -1))


def _best(config: Callable[[float], T], **deltas: float) -> dict[str, T]:
    """Presets with the authors' best delta for each data set."""
    return {name: config(delta) for name, delta in deltas.items()}


METHODS = {
    "ll_r": NamedMethod(
        "Large loss, rejection",
        "Kim et al. 2022 (Large Loss Matters), LL-R",
        GrowingConfig,
        partial(GrowingLargeLoss, "ll_r", large_loss_rejection),
        presets=_best(GrowingConfig, voc=0.002, coco=0.004, nus=0.004, cub=0.004),
    ),
    "ll_ct": NamedMethod(
        "Large loss, temporary correction",
        "Kim et al. 2022 (Large Loss Matters), LL-Ct",
        GrowingConfig,
        partial(GrowingLargeLoss, "ll_ct", large_loss_correction),
        presets=_best(GrowingConfig, voc=0.002, coco=0.002, nus=0.002, cub=0.004),
    ),
    "ll_cp": NamedMethod(
        "Large loss, permanent correction",
        "Kim et al. 2022 (Large Loss Matters), LL-Cp",
        PermanentConfig,
        PermanentCorrection,
        needs=Needs(state=True),
        presets=_best(PermanentConfig, voc=0.001, coco=0.002, nus=0.002, cub=0.002),
    ),
}
