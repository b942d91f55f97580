"""Unbiased PU learning: the risk over negatives, rewritten with positives and unlabeled cells.

    loss = sum over classes of pi E_P[l+] - pi E_P[l-] + E_U[l-]

Du Plessis et al. 2015 (uPU); PU-MLC (arXiv 2306.16016), Eq. 5, sets it beside its own loss. pi is
the share of positives of the class, E are means over the batch, l+ = -log p and l- = -log(1 - p).
As in PU-MLC, U is the whole batch, observed positives included, and known negatives are only
unlabeled cells, unless ``use_negatives`` adds (1 - pi) E_N[l-] for them (ours). A class without
positives in the batch has only its term over U. The sum can fall below zero, and a deep network
overfits until it does; ``nnpu`` is the remedy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tagfill.losses.pu import Surrogate, known_negative_risk, unbiased_risk
from tagfill.methods._prior import resolve_prior
from tagfill.methods._settings import require_choice
from tagfill.methods.base import Info, LossTerms, Method, Needs, Setup, Step, require_positives

INFO = Info(
    title="Unbiased PU learning (uPU)",
    source="Du Plessis et al. 2015; PU-MLC (arXiv 2306.16016), Eq. 5",
    needs=Needs(class_prior=True),
)


@dataclass(frozen=True)
class Config:
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

    def __post_init__(self) -> None:
        require_choice("surrogate", self.surrogate, ("logistic", "sigmoid"))


class UnbiasedPu(Method):
    """Knows the class prior."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.needs = Needs(class_prior=config.prior == "auto")

    def start(self, setup: Setup) -> None:
        """Settle the class prior."""
        require_positives(setup.observed, "upu")
        self.prior = resolve_prior(self.config.prior, setup, "upu")

    def loss(self, step: Step) -> LossTerms:
        """The sum over classes, and that of known negatives."""
        risk = unbiased_risk(
            step.output.logits,
            step.observed,
            self.prior,
            surrogate=self.config.surrogate,
            positives_in_unlabeled=self.config.positives_in_unlabeled,
        )
        terms = {"upu": risk.sum()}
        if self.config.use_negatives:
            known = known_negative_risk(step.output.logits, step.observed)
            terms["negatives"] = ((1 - self.prior) * known).sum()
        return terms


def build(config: Config) -> Method:
    """Make the method."""
    return UnbiasedPu(config)
