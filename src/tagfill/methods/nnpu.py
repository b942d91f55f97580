"""Non-negative PU learning: ``upu`` that steps back where it overfits.

    loss = sum over classes of pi E_P[l+] + max(-beta, r),  r = E_U[l-] - pi E_P[l-]

Kiryo et al. 2017 (nnPU), Eq. 6 and Algorithm 1; the successor of the uPU of PU-MLC's Eq. 5. r
estimates a risk and cannot truly be negative. Where it falls below -beta, the gradient is that of
-gamma r alone, which raises it again. Here every class is judged by itself. l+ = -log p and
l- = -log(1 - p); U and known negatives as in ``upu``. The published code takes l+ = 1 - p and
l- = p, and a U without the positives; the preset ``published`` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tagfill.losses.pu import Surrogate, known_negative_risk, non_negative_risk
from tagfill.methods._prior import resolve_prior
from tagfill.methods._settings import require_choice, require_range
from tagfill.methods.base import Info, LossTerms, Method, Needs, Setup, Step, require_positives

INFO = Info(
    title="Non-negative PU learning (nnPU)",
    source="Kiryo et al. 2017, Eq. 6, Algorithm 1",
    needs=Needs(class_prior=True),
)


@dataclass(frozen=True)
class Config:
    """Hyper-parameters.

    Args:
        prior: pi, one number for all classes or one per class separated by commas; "auto" estimates
            it from the observed labels.
        beta: how far r may fall below zero.
        gamma: how strongly to step back where it did; 0 stands still.
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
        require_choice("surrogate", self.surrogate, ("logistic", "sigmoid"))


PRESETS = {"published": Config(surrogate="sigmoid", positives_in_unlabeled=False)}


class NonNegativePu(Method):
    """Knows the class prior."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.needs = Needs(class_prior=config.prior == "auto")

    def start(self, setup: Setup) -> None:
        """Settle the class prior."""
        require_positives(setup.observed, "nnpu")
        self.prior = resolve_prior(self.config.prior, setup, "nnpu")

    def loss(self, step: Step) -> LossTerms:
        """The sum over classes, and that of known negatives."""
        risk = non_negative_risk(
            step.output.logits,
            step.observed,
            self.prior,
            beta=self.config.beta,
            gamma=self.config.gamma,
            surrogate=self.config.surrogate,
            positives_in_unlabeled=self.config.positives_in_unlabeled,
        )
        terms = {"nnpu": risk.sum()}
        if self.config.use_negatives:
            known = known_negative_risk(step.output.logits, step.observed)
            terms["negatives"] = ((1 - self.prior) * known).sum()
        return terms


def build(config: Config) -> Method:
    """Make the method."""
    return NonNegativePu(config)
