"""The variational PU methods: one risk, with and without PU-MLC's additions."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from tagfill.losses.pu import (
    adaptive_temperature,
    known_negative_risk,
    mixup_consistency,
    variational_risk,
)
from tagfill.methods.base import (
    LossTerms,
    Method,
    Mixed,
    Needs,
    Setup,
    Step,
    require_positives,
)

Temperature = Literal["adaptive"] | float


class Variational(Method):
    """Sums over classes of the variational risk and of the consistency of mixed images.

    Args:
        name: of the method and of its first term.
        mixup: weight of the consistency; 0 switches it off.
        temperature: tau, or "adaptive".
        alpha: of the adaptive temperature.
        gamma: exponent of the re-balance factor; 0 switches it off.
        tempered_factor: the factor is made of tempered probabilities.
        detach_targets: no gradient flows through the targets of mixed images.
        positives_in_unlabeled: observed positives are part of U.
        use_negatives: known negatives have a term of their own.
        eps: added inside the logarithms.
    """

    def __init__(
        self,
        name: str,
        *,
        mixup: float,
        temperature: Temperature = 1.0,
        alpha: float = 1.0,
        gamma: float = 0.0,
        tempered_factor: bool = False,
        detach_targets: bool = False,
        positives_in_unlabeled: bool = True,
        use_negatives: bool = False,
        eps: float = 0.0,
    ) -> None:
        self.name, self.mixup, self.use_negatives = name, mixup, use_negatives
        self.temperature, self.alpha, self.gamma = temperature, alpha, gamma
        self.tempered_factor, self.detach_targets, self.eps = tempered_factor, detach_targets, eps
        self.positives_in_unlabeled = positives_in_unlabeled
        self.needs = Needs(mixup=mixup > 0)

    def start(self, setup: Setup) -> None:
        """Refuse labels without positives."""
        require_positives(setup.observed, self.name)

    def loss(self, step: Step) -> LossTerms:
        """The risk, and what is switched on beside it."""
        logits, observed = step.output.logits, step.observed
        temperature = self._temperature(logits)
        risk = variational_risk(
            logits,
            observed,
            temperature=temperature,
            gamma=self.gamma,
            tempered_factor=self.tempered_factor,
            positives_in_unlabeled=self.positives_in_unlabeled,
            eps=self.eps,
        )
        terms = {self.name: risk.sum()}
        if self.use_negatives:
            terms["negatives"] = known_negative_risk(logits / temperature, observed).sum()
        if self.mixup and step.mixed is not None:
            terms["mixup"] = self.mixup * self._consistency(step.mixed, logits, observed)
        return terms

    def _temperature(self, logits: Tensor) -> Tensor | float:
        if self.temperature == "adaptive":
            return adaptive_temperature(logits, self.alpha)
        return float(self.temperature)

    def _consistency(self, mixed: Mixed, logits: Tensor, observed: Tensor) -> Tensor:
        cells = mixup_consistency(
            mixed.output.logits,
            logits,
            observed,
            mixed.first,
            mixed.second,
            mixed.weight,
            detach=self.detach_targets,
            eps=self.eps,
        )
        return cells.mean(dim=0).sum()
