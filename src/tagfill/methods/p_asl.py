"""Partial asymmetric loss with selective ignoring: doubtful unknown tags are left out.

    loss = mean over images and classes of
           -[z=1] a+ (1 - p)^g+ log p - [z=0] a- q^g- log(1 - q) - [z=-1, kept] au q^gu log(1 - q),
           q = max(p - margin, 0)

Ben-Baruch et al. 2022 (CSL). Unknown entries count as negative, with a focus of their own, except
the ``likelihood_topk`` x B most likely ones of a batch of B images, and those of classes whose
share of positives exceeds ``prior_threshold``. ``mode`` turns the selection off: "negative" keeps
all unknown entries, "ignore" none, "ignore_normalized" none and weighs an image by
1 + 1 / (1 + number of known entries) after Durand et al. 2019. With ``likelihood_topk`` classes or
fewer nothing unknown is kept.

The published code takes the class prior from a first training run in mode "ignore"; here it is
given or estimated from the observed tags. It lets no gradient through the focal weights, raises
probabilities to 1e-8 inside logarithms and sums over the batch (``detach_weight``, ``eps``,
``reduction``; preset ``published``). Its script defaults to ``prior_threshold`` 0.05, its examples
have 0.5. Presets ``rps`` and ``fpc``: the gammas for labels dropped at random, and for a fixed
number of labels per class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from tagfill.losses.focusing import partial_asymmetric
from tagfill.losses.selection import likely_or_common
from tagfill.methods._prior import Prior, resolve_prior
from tagfill.methods._settings import Reduction, Settings, reduced, setting
from tagfill.methods.base import Info, LossTerms, Method, Needs, Setup, Step

INFO = Info(
    title="Partial asymmetric loss with selective ignoring",
    source="Ben-Baruch et al. 2022 (CSL)",
    needs=Needs(class_prior=True),
)


@dataclass(frozen=True)
class Config(Settings):
    gamma_positive: float = setting(0.0, "g+", 0)
    gamma_negative: float = setting(1.0, "g-", 0)
    gamma_unknown: float = setting(4.0, "gu", 0)
    alpha_positive: float = setting(1.0, "a+")
    alpha_negative: float = setting(1.0, "a-")
    alpha_unknown: float = setting(1.0, "au")
    margin: float = setting(0.0, "negatives and unknown entries with p below it cost nothing", 0, 1)
    mode: Literal["selective", "negative", "ignore", "ignore_normalized"] = setting(
        "selective", '"selective", "negative", "ignore" or "ignore_normalized"'
    )
    likelihood_topk: int = setting(5, "unknown entries per image left out as too likely", 0)
    prior_threshold: float = setting(
        0.5, "unknown entries of classes more common than this are left out"
    )
    prior: Prior = setting(
        "auto", 'share of positives: one number, one per class, or "auto" for an estimate'
    )
    detach_weight: bool = setting(False, "no gradient flows through the focal weights")
    eps: float = setting(0.0, "probabilities inside logarithms are raised to it")
    reduction: Reduction = setting("mean", '"mean" or "sum" over the batch')


PRESETS = {
    "published": Config(detach_weight=True, eps=1e-8, reduction="sum"),
    "rps": Config(detach_weight=True, eps=1e-8, reduction="sum"),
    "fpc": Config(gamma_negative=3.0, detach_weight=True, eps=1e-8, reduction="sum"),
}


class SelectiveAsymmetric(Method):
    """Asymmetric loss with three kinds of entries, some of the unknown ones left out."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.needs = Needs(class_prior=config.mode == "selective" and config.prior == "auto")

    def start(self, setup: Setup) -> None:
        """Take the class prior where entries are selected by it."""
        super().start(setup)
        if self.config.mode == "selective":
            self.prior = resolve_prior(self.config.prior, setup, "p_asl")

    def loss(self, step: Step) -> LossTerms:
        terms = reduced(self._cells, self.config.reduction)(step.output.logits, step.observed)
        return {"p_asl": terms.mean()}

    def _cells(self, logits: Tensor, observed: Tensor) -> Tensor:
        config = self.config
        terms = partial_asymmetric(
            logits,
            observed,
            gammas=(config.gamma_positive, config.gamma_negative, config.gamma_unknown),
            alphas=(config.alpha_positive, config.alpha_negative, config.alpha_unknown),
            margin=config.margin,
            detach_weight=config.detach_weight,
            eps=config.eps,
        )
        return self._weights(logits, observed) * terms

    def _weights(self, logits: Tensor, observed: Tensor) -> Tensor:
        known = observed != -1
        if self.config.mode == "negative":
            return torch.ones_like(logits)
        if self.config.mode == "ignore":
            return known.to(logits.dtype)
        if self.config.mode == "ignore_normalized":
            return known * (1 + 1 / (1 + known.sum(dim=1, keepdim=True).to(logits.dtype)))
        left_out = likely_or_common(
            logits,
            observed,
            self.prior,
            per_image=self.config.likelihood_topk,
            prior_threshold=self.config.prior_threshold,
        )
        return (~left_out).to(logits.dtype)


build = SelectiveAsymmetric
