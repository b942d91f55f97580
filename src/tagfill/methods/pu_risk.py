"""PU learning with a class prior: the risk over negatives, from positives and unlabeled entries.

    upu:  loss = sum over classes of pi E_P[l+] + r
    nnpu: loss = sum over classes of pi E_P[l+] + max(-beta, r)
    r = E_U[l-] - pi E_P[l-]

Du Plessis et al. 2015 (uPU), which PU-MLC (arXiv 2306.16016) sets beside its own loss in Eq. 5, and
Kiryo et al. 2017 (nnPU), Eq. 6 and Algorithm 1. pi is the share of positives of the class, E are
means over the batch, l+ = -log p and l- = -log(1 - p). As in PU-MLC, U is the whole batch, observed
positives included, and known negatives are only unlabeled entries, unless ``use_negatives`` adds
(1 - pi) E_N[l-] for them (ours). A class without positives in the batch has only its term over U.

r estimates a risk and cannot truly be negative, but a deep network overfits until its estimate is.
``nnpu`` is the remedy: where r falls below -beta, the gradient is that of -gamma r alone, which
raises it again; here every class is treated by itself. Its published code takes l+ = 1 - p and
l- = p, and a U without the positives; the preset ``published`` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from torch import Tensor

from tagfill.losses.pu import Surrogate, known_negative_risk, non_negative_risk, unbiased_risk
from tagfill.methods._prior import resolve_prior
from tagfill.methods._settings import Settings, setting
from tagfill.methods.base import Info, LossTerms, Method, NamedMethod, Needs, Setup, Step


@dataclass(frozen=True)
class UnbiasedConfig(Settings):
    prior: Literal["auto"] | float | tuple[float, ...] = setting(
        "auto",
        'pi, one number for all classes or one per class separated by commas; "auto" estimates it '
        "from the observed labels",
    )
    surrogate: Surrogate = setting(
        "logistic", '"logistic" for cross-entropy, "sigmoid" for l+ = 1 - p and l- = p'
    )
    positives_in_unlabeled: bool = setting(True, "observed positives are part of U")
    use_negatives: bool = setting(False, "known negatives add (1 - pi) E_N[l-], with cross-entropy")


@dataclass(frozen=True)
class NonNegativeConfig(UnbiasedConfig):
    beta: float = setting(0.0, "how far r may fall below zero", 0)
    gamma: float = setting(1.0, "how strongly to step back in that case; 0 for not at all", 0, 1)


class PuRisk(Method):
    """Risk of positive and unlabeled entries, with a class prior."""

    def __init__(self, name: str, config: UnbiasedConfig) -> None:
        self.name, self.config = name, config
        self.needs = Needs(class_prior=config.prior == "auto")

    def start(self, setup: Setup) -> None:
        super().start(setup)
        self.prior = resolve_prior(self.config.prior, setup, self.name)

    def loss(self, step: Step) -> LossTerms:
        """The sum over classes, and that of known negatives."""
        logits, observed = step.output.logits, step.observed
        terms = {self.name: self._risk(logits, observed).sum()}
        if self.config.use_negatives:
            known = known_negative_risk(logits, observed)
            terms["negatives"] = ((1 - self.prior) * known).sum()
        return terms

    def _risk(self, logits: Tensor, observed: Tensor) -> Tensor:
        config = self.config
        risk = unbiased_risk
        if isinstance(config, NonNegativeConfig):
            risk = partial(non_negative_risk, beta=config.beta, gamma=config.gamma)
        return risk(
            logits,
            observed,
            self.prior,
            surrogate=config.surrogate,
            positives_in_unlabeled=config.positives_in_unlabeled,
        )


METHODS = {
    "upu": NamedMethod(
        Info(
            "Unbiased PU learning (uPU)",
            "Du Plessis et al. 2015; PU-MLC (arXiv 2306.16016), Eq. 5",
            Needs(class_prior=True),
        ),
        UnbiasedConfig,
        partial(PuRisk, "upu"),
    ),
    "nnpu": NamedMethod(
        Info(
            "Non-negative PU learning (nnPU)",
            "Kiryo et al. 2017, Eq. 6, Algorithm 1",
            Needs(class_prior=True),
        ),
        NonNegativeConfig,
        partial(PuRisk, "nnpu"),
        {"published": NonNegativeConfig(surrogate="sigmoid", positives_in_unlabeled=False)},
    ),
}
