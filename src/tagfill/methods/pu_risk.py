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
from typing import Literal

from torch import Tensor

from tagfill.losses.pu import Surrogate, known_negative_risk, non_negative_risk, unbiased_risk
from tagfill.methods._prior import resolve_prior
from tagfill.methods._settings import require_range
from tagfill.methods.base import Info, LossTerms, Method, NamedMethod, Needs, Setup, Step


@dataclass(frozen=True)
class UnbiasedConfig:
    """Hyper-parameters.

    Args:
        prior: pi, one number for all classes or one per class separated by commas; "auto" estimates
            it from the observed labels.
        surrogate: "logistic" for cross-entropy, "sigmoid" for l+ = 1 - p and l- = p.
        positives_in_unlabeled: observed positives are part of U.
        use_negatives: known negatives add (1 - pi) E_N[l-], with cross-entropy.
    """

    prior: Literal["auto"] | float | tuple[float, ...] = "auto"
    surrogate: Surrogate = "logistic"
    positives_in_unlabeled: bool = True
    use_negatives: bool = False


@dataclass(frozen=True)
class NonNegativeConfig:
    """Hyper-parameters.

    Args:
        prior: pi, one number for all classes or one per class separated by commas; "auto" estimates
            it from the observed labels.
        beta: how far r may fall below zero.
        gamma: how strongly to step back in that case; 0 for not at all.
        surrogate: "logistic" for cross-entropy, "sigmoid" for l+ = 1 - p and l- = p.
        positives_in_unlabeled: observed positives are part of U.
        use_negatives: known negatives add (1 - pi) E_N[l-], with cross-entropy.
    """

    prior: Literal["auto"] | float | tuple[float, ...] = "auto"
    beta: float = 0.0
    gamma: float = 1.0
    surrogate: Surrogate = "logistic"
    positives_in_unlabeled: bool = True
    use_negatives: bool = False

    def __post_init__(self) -> None:
        require_range("beta", self.beta, 0)
        require_range("gamma", self.gamma, 0, 1)


class PuRisk(Method):
    """Risk of positive and unlabeled entries, with a class prior."""

    def __init__(self, config: UnbiasedConfig | NonNegativeConfig) -> None:
        self.config = config
        self.name = "upu" if isinstance(config, UnbiasedConfig) else "nnpu"
        self.needs = Needs(class_prior=config.prior == "auto")

    def start(self, setup: Setup) -> None:
        super().start(setup)
        self.prior = resolve_prior(self.config.prior, setup, self.name)

    def loss(self, step: Step) -> LossTerms:
        """The sum over classes, and that of known negatives."""
        terms = {self.name: self._risk(step).sum()}
        if self.config.use_negatives:
            known = known_negative_risk(step.output.logits, step.observed)
            terms["negatives"] = ((1 - self.prior) * known).sum()
        return terms

    def _risk(self, step: Step) -> Tensor:
        config, logits, observed = self.config, step.output.logits, step.observed
        surrogate, included = config.surrogate, config.positives_in_unlabeled
        if isinstance(config, UnbiasedConfig):
            return unbiased_risk(
                logits,
                observed,
                self.prior,
                surrogate=surrogate,
                positives_in_unlabeled=included,
            )
        return non_negative_risk(
            logits,
            observed,
            self.prior,
            beta=config.beta,
            gamma=config.gamma,
            surrogate=surrogate,
            positives_in_unlabeled=included,
        )


METHODS = {
    "upu": NamedMethod(
        Info(
            "Unbiased PU learning (uPU)",
            "Du Plessis et al. 2015; PU-MLC (arXiv 2306.16016), Eq. 5",
            Needs(class_prior=True),
        ),
        UnbiasedConfig,
        PuRisk,
    ),
    "nnpu": NamedMethod(
        Info(
            "Non-negative PU learning (nnPU)",
            "Kiryo et al. 2017, Eq. 6, Algorithm 1",
            Needs(class_prior=True),
        ),
        NonNegativeConfig,
        PuRisk,
        {"published": NonNegativeConfig(surrogate="sigmoid", positives_in_unlabeled=False)},
    ),
}
