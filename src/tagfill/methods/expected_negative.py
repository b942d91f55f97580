"""Expected negatives with consistency over epochs, of scores (``en_cl``) or of maps (``en_scl``).

    loss = mean over images and classes of -[z=1] log p - [z=0 or expected negative] log(1 - p)
           + weight x mean of (p - a)^2                     (en_cl)
           + weight x mean over positions of (sigma(m) - h)^2  (en_scl)

Verelst et al. 2022 (spatial consistency loss), rows of Xie et al. 2022 (LAC), Table 2. a is the
running average of an image's probabilities over the epochs, a <- momentum a + (1 - momentum) p at
every visit; the expected negatives of an image are the K - k unknown classes with the lowest a, k
being the expected number of positives. In ``en_scl`` the consistency is that of the
class-activation maps m with their running averages h; it needs the ``cam`` head.

We do not have the paper, and its code is not published: form and values of the three terms are our
reading of its abstract (running averages over consecutive epochs that choose expected negatives;
consistency with them; the same for heat maps of every class). Maps and their mirror images are
averaged, so that flips do not matter; crops are not followed.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from tagfill.errors import TagfillError
from tagfill.losses.assume import ignore_unknown
from tagfill.losses.selection import lowest_per_class
from tagfill.methods._settings import CountSettings, setting
from tagfill.methods._state import Averages
from tagfill.methods.base import (
    LossTerms,
    Method,
    NamedMethod,
    Needs,
    Setup,
    Step,
    filled_in,
    resolve_k,
)

SOURCE = "Verelst et al. 2022 (SCL); Xie et al. 2022 (LAC), Table 2"


@dataclass(frozen=True)
class Config(CountSettings):
    momentum: float = setting(0.8, "of the running averages; ours", 0, 1)
    weight: float = setting(1.0, "of the consistency; ours", 0)


class ExpectedNegatives(Method):
    """Assumed negatives by running averages of every image's predictions.

    Args:
        spatial: consistency of maps instead of scores.
    """

    kept = ("scores", "maps")

    def __init__(self, name: str, config: Config, spatial: bool) -> None:
        self.name, self.config, self.spatial = name, config, spatial
        self.needs = Needs(
            state=True, expected_positives=config.k == "auto", activation_maps=spatial
        )

    def start(self, setup: Setup) -> None:
        super().start(setup)
        self.negatives = max(round(setup.classes - resolve_k(self.config.k, setup, self.name)), 0)
        self.observed = setup.observed
        self.scores = Averages(setup.images, setup.device, self.config.momentum)
        self.maps = Averages(setup.images, setup.device, self.config.momentum)

    def loss(self, step: Step) -> LossTerms:
        now = torch.sigmoid(step.output.logits)
        unknown = step.observed == -1
        average = self.scores.of(step.index, now)
        counts = torch.full((len(now),), self.negatives, device=now.device)
        expected = lowest_per_class(average.T, unknown.T, counts).T
        terms = ignore_unknown(step.output.logits, torch.where(expected, 0, step.observed))
        if self.spatial:
            heat = self._heat(step)
            drift = heat - self.maps.of(step.index, heat)
        else:
            drift = now - average
        return {"en": terms.mean(), "consistency": self.config.weight * drift.square().mean()}

    def after_step(self, step: Step) -> None:
        self.scores.update(step.index, torch.sigmoid(step.output.logits))
        if self.spatial:
            self.maps.update(step.index, self._heat(step))

    def _heat(self, step: Step) -> Tensor:
        """[B, K, H, W] probabilities of positions, the same for an image and its mirror image."""
        maps = step.output.maps
        if maps is None:
            raise TagfillError(
                f"{self.name} needs class-activation maps, which this model does not give",
                remedy="use the `cam` head",
            )
        heat = torch.sigmoid(maps)
        return (heat + heat.flip(3)) / 2

    def estimates(self) -> Tensor | None:
        """The running averages of unknown entries; None before every image was seen."""
        table = self.scores.table
        if not table.numel() or bool(table.isnan().any()):
            return None
        return filled_in(self.observed, table)


METHODS = {
    "en_cl": NamedMethod(
        "Expected negatives with consistency over epochs (EN + CL)",
        SOURCE,
        Config,
        lambda config: ExpectedNegatives("en_cl", config, spatial=False),
        needs=Needs(state=True, expected_positives=True),
    ),
    "en_scl": NamedMethod(
        "Expected negatives with spatial consistency over epochs (EN + SCL)",
        SOURCE,
        Config,
        lambda config: ExpectedNegatives("en_scl", config, spatial=True),
        needs=Needs(state=True, expected_positives=True, activation_maps=True),
    ),
}
