"""Pseudo-label consistency: confident predictions of one view are the labels of another view.

    loss = L_AN + lambda L_PLC
    L_AN = mean over images of sum over classes of -[z=1] log p_w - [z!=1] log(1 - p_w)
    L_PLC = mean over images of sum over unknown entries of
            -[p_w >= delta] log p_s - [p_w <= 1 - delta] log(1 - p_s)

Xie et al. 2022 (LAC), Eq. 2 and 4: its first stage, and a row of its Table 3. p_w is the output for
the weakly augmented view, which carries no gradient in L_PLC, p_s that for the strong one. The
paper picks delta on validation from 0.5 to 0.9; 0.6 is the published code's for this stage. Known
negatives, which the paper does not have, are observed entries like known positives.

As in the published code the strong view learns the observed labels too (``include_observed``): Eq.
4 leaves them out, and then only the weak view has labels, which cost 1.9 and 5.3 points
of mAP in two small runs on VOC. The pseudo-labels of each image's last visit are stored for
the log.

``strong_labels`` "assumed" is a control that separates consistency from augmentation: the strong
view learns what the weak one does, assumed negatives and all, and nothing is a pseudo-label.

The published code takes means over entries instead of sums over classes, L_PLC's over the entries
that take part (``normalize`` "entries"); the preset ``published`` does so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from tagfill.errors import TagfillError
from tagfill.losses.assume import assume_negative
from tagfill.losses.consistency import confident_labels, pseudo_label_consistency
from tagfill.methods._settings import Settings, setting
from tagfill.methods.base import Info, LossTerms, Method, Needs, Setup, Step
from tagfill.models.output import Output

Normalize = Literal["images", "entries"]

INFO = Info(
    title="Assume negative with pseudo-label consistency (PLC)",
    source="Xie et al. 2022 (LAC), Eq. 2 and 4",
    needs=Needs(two_views=True, state=True),
)


@dataclass(frozen=True)
class Config(Settings):
    threshold: float = setting(0.6, "delta, least probability of a pseudo-label", 0.5, 1)
    weight: float = setting(1.0, "lambda of the consistency; 0 leaves assume negative", 0)
    normalize: Normalize = setting(
        "images",
        '"images" for sums over classes and means over images, "entries" for means over entries',
    )
    include_observed: bool = setting(
        True, "the strong view learns observed labels too; Eq. 4 is without"
    )
    strong_labels: Literal["pseudo", "assumed"] = setting(
        "pseudo", '"pseudo" for L_PLC, "assumed" for L_AN of the strong view instead'
    )


PRESETS = {"published": Config(normalize="entries")}


class TwoViews(Method):
    """Base of methods that label the strong view of an image by its weak view.

    The pseudo-labels of each image's last visit are stored.
    """

    kept: tuple[str, ...] = ("labels",)
    config: Any

    def start(self, setup: Setup) -> None:
        super().start(setup)
        self.labels = torch.full(setup.observed.shape, -1, dtype=torch.int8, device=setup.device)

    def assumed(self, view: Output, step: Step) -> Tensor:
        """L_AN of one view."""
        terms = assume_negative(view.logits, step.observed)
        return terms.mean() if self.config.normalize == "entries" else terms.sum(dim=1).mean()

    def consistency(self, step: Step, threshold: float) -> Tensor:
        """L_PLC; 0 if no entry takes part."""
        terms, chosen = pseudo_label_consistency(
            self.strong(step).logits,
            step.output.logits,
            step.observed,
            threshold=threshold,
            include_observed=self.config.include_observed,
        )
        by_entry = self.config.normalize == "entries"
        return terms.sum() / (chosen.sum().clamp(min=1) if by_entry else len(terms))

    def remember(self, step: Step, threshold: float) -> None:
        """Store the pseudo-labels of a batch."""
        labels = confident_labels(step.output.logits, step.observed, threshold=threshold)
        self.labels[step.index] = labels.to(self.labels)

    def strong(self, step: Step) -> Output:
        if step.strong is None:
            raise TagfillError(
                f"{self.name} needs a second, strongly augmented view of every image",
                remedy="train on images, not on cached features of one view",
            )
        return step.strong


class PseudoLabelConsistency(TwoViews):
    """Assume negative on the weak view, pseudo-labels on the strong one."""

    name = "plc"

    def __init__(self, config: Config) -> None:
        self.config = config
        self.needs = Needs(two_views=config.weight > 0, state=config.weight > 0)
        self.labels_strong_view = config.weight > 0 and config.strong_labels == "pseudo"

    def loss(self, step: Step) -> LossTerms:
        terms, weight = {"an": self.assumed(step.output, step)}, self.config.weight
        if self.config.strong_labels == "assumed":
            terms["strong_an"] = weight * self.assumed(self.strong(step), step)
        elif weight:
            terms["plc"] = weight * self.consistency(step, self.config.threshold)
        return terms

    def after_step(self, step: Step) -> None:
        if self.labels_strong_view:
            self.remember(step, self.config.threshold)

    def pseudo_labels(self) -> Tensor | None:
        """Confident predictions at the last visit of each image."""
        return self.labels if self.labels_strong_view else None


build = PseudoLabelConsistency
