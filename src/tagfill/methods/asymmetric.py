"""Focal losses: easy entries count less, and easy negatives less than easy positives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from tagfill.losses.focusing import asymmetric, focal, partial_asymmetric
from tagfill.losses.selection import likely_or_common
from tagfill.methods._settings import Prior, Reduction, Settings, reduced, resolve_prior, setting
from tagfill.methods.base import (
    LossTerms,
    Method,
    NamedMethod,
    Needs,
    Setup,
    Step,
    elementwise,
)


@dataclass(frozen=True)
class AslConfig(Settings):
    gamma_positive: float = setting(0.0, "g+", 0)
    gamma_negative: float = setting(4.0, "g-", 0)
    margin: float = setting(0.05, "negatives with p below it cost nothing", 0, 1)
    detach_weight: bool = setting(False, "no gradient flows through the focal weights")
    eps: float = setting(0.0, "probabilities inside logarithms are raised to it")
    reduction: Reduction = setting("mean", '"mean" or "sum" over the batch')


@dataclass(frozen=True)
class Q2lConfig(Settings):
    gamma_positive: float = setting(0.0, "g+", 0)
    gamma_negative: float = setting(1.0, "g-", 0)
    detach_weight: bool = setting(False, "no gradient flows through the focal weights")
    eps: float = setting(0.0, "probabilities inside logarithms are raised to it")
    scale: float = setting(1.0, "factor on the loss")


@dataclass(frozen=True)
class FocalConfig(Settings):
    gamma: float = setting(2.0, "how fast easy entries lose weight; 0 is plain ``an``", 0)


def _scaled(logits: Tensor, observed: Tensor, *, scale: float, **settings: Any) -> Tensor:
    return scale * asymmetric(logits, observed, **settings)


@dataclass(frozen=True)
class PartialAslConfig(Settings):
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


class SelectiveAsymmetric(Method):
    """Asymmetric loss with three kinds of entries, some of the unknown ones left out."""

    def __init__(self, config: PartialAslConfig) -> None:
        self.config = config
        self.needs = Needs(class_prior=config.mode == "selective" and config.prior == "auto")
        self.terms = partial(
            config.given_to(partial_asymmetric),
            gammas=(config.gamma_positive, config.gamma_negative, config.gamma_unknown),
            alphas=(config.alpha_positive, config.alpha_negative, config.alpha_unknown),
        )

    def start(self, setup: Setup) -> None:
        """Take the class prior where entries are selected by it."""
        super().start(setup)
        if self.config.mode == "selective":
            self.prior = resolve_prior(self.config.prior, setup, "p_asl")

    def loss(self, step: Step) -> LossTerms:
        terms = reduced(self._cells, self.config.reduction)(step.output.logits, step.observed)
        return {"p_asl": terms.mean()}

    def _cells(self, logits: Tensor, observed: Tensor) -> Tensor:
        return self._weights(logits, observed) * self.terms(logits, observed)

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


METHODS = {
    "asl": NamedMethod(
        "Asymmetric loss",
        "Ridnik et al. 2021 (ASL); Zhou et al. 2022, Table 1",
        AslConfig,
        elementwise("asl", asymmetric),
        presets={"published": AslConfig(detach_weight=True, eps=1e-8, reduction="sum")},
        text="""\
Asymmetric loss: negatives lose weight faster than positives, and easy ones drop out.

    loss = mean over images and classes of
           -[z=1] (1 - p)^g+ log p - [z!=1] q^g- log(1 - q),  q = max(p - margin, 0)

Ridnik et al. 2021 (ASL), with g+ 0, g- 4, margin 0.05; compared in Zhou et al. 2022 (EM + APL),
Table 1. Unknown counts as negative. Entries with p below the margin have neither loss nor
gradient.

The published training script lets no gradient through the focal weights, raises probabilities to
1e-8 inside logarithms and sums over the batch instead of taking the mean (``detach_weight``,
``eps``, ``reduction``; preset ``published``). The sum is larger by the number of entries, which
Adam hides and weight decay does not.""",
    ),
    "asl_q2l": NamedMethod(
        "Simplified asymmetric loss of Query2Label",
        "Liu et al. 2021 (Query2Label); Islam et al., Eq. 11",
        Q2lConfig,
        elementwise("asl_q2l", _scaled),
        presets={
            "published": Q2lConfig(gamma_negative=2.0, detach_weight=True, eps=1e-5, scale=1000.0)
        },
        text="""\
Simplified asymmetric focal loss of Query2Label: no margin, gentle focus on negatives.

    loss = scale x mean over images and classes of -[z=1] (1 - p)^g+ log p - [z!=1] p^g- log(1 - p)

Liu et al. 2021 (Query2Label), with g+ 0 and g- 1; Eq. 11 of the reproduction by Islam et al., which
prints it without the minus. Made for full labels; unknown counts as negative.

The published code and its README have g- 2, raise probabilities to 1e-5 inside logarithms, let no
gradient through the focal weights and multiply the mean by 1000 (``gamma_negative``, ``eps``,
``detach_weight``, ``scale``; preset ``published``).""",
    ),
    "focal": NamedMethod(
        "Focal loss",
        "Lin et al. 2017; Zhou et al. 2022 (EM + APL), Table 1",
        FocalConfig,
        elementwise("focal", focal),
        text="""Focal loss: tags the network gets right count less; unknown counts as negative.

    loss = mean over images and classes of -[z=1] (1 - p)^gamma log p - [z!=1] p^gamma log(1 - p)

Lin et al. 2017, without its class weight; compared in Zhou et al. 2022 (EM + APL), Table 1, whose
code for it is not published. Gamma 2 is Lin's value and that of the multi-label code of Ridnik et
al. 2021 and Zhang et al. 2021.""",
    ),
    "p_asl": NamedMethod(
        "Partial asymmetric loss with selective ignoring",
        "Ben-Baruch et al. 2022 (CSL)",
        PartialAslConfig,
        SelectiveAsymmetric,
        needs=Needs(class_prior=True),
        presets={
            "published": PartialAslConfig(detach_weight=True, eps=1e-8, reduction="sum"),
            "rps": PartialAslConfig(detach_weight=True, eps=1e-8, reduction="sum"),
            "fpc": PartialAslConfig(
                gamma_negative=3.0, detach_weight=True, eps=1e-8, reduction="sum"
            ),
        },
        text="""Partial asymmetric loss with selective ignoring: doubtful unknown tags are left out.

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
number of labels per class.""",
    ),
}
