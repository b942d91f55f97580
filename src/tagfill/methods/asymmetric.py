"""Focal losses: easy entries count less, and easy negatives less than easy positives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from torch import Tensor

from tagfill.losses.focusing import asymmetric, focal
from tagfill.methods._settings import Reduction, reduced, require_range
from tagfill.methods.base import ElementwiseMethod, Info, Method, NamedMethod


@dataclass(frozen=True)
class AslConfig:
    """Settings of the asymmetric loss.

    Args:
        gamma_positive: g+.
        gamma_negative: g-.
        margin: negatives with p below it cost nothing.
        detach_weight: no gradient flows through the focal weights.
        eps: probabilities inside logarithms are raised to it.
        reduction: "mean" or "sum" over the batch.
    """

    gamma_positive: float = 0.0
    gamma_negative: float = 4.0
    margin: float = 0.05
    detach_weight: bool = False
    eps: float = 0.0
    reduction: Reduction = "mean"

    def __post_init__(self) -> None:
        require_range("gamma_positive", self.gamma_positive, 0)
        require_range("gamma_negative", self.gamma_negative, 0)
        require_range("margin", self.margin, 0, 1)


@dataclass(frozen=True)
class Q2lConfig:
    """Settings of Query2Label's asymmetric loss.

    Args:
        gamma_positive: g+.
        gamma_negative: g-.
        detach_weight: no gradient flows through the focal weights.
        eps: probabilities inside logarithms are raised to it.
        scale: factor on the loss.
    """

    gamma_positive: float = 0.0
    gamma_negative: float = 1.0
    detach_weight: bool = False
    eps: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        require_range("gamma_positive", self.gamma_positive, 0)
        require_range("gamma_negative", self.gamma_negative, 0)


@dataclass(frozen=True)
class FocalConfig:
    """Settings of the focal loss.

    Args:
        gamma: how fast easy entries lose weight; 0 is plain ``an``.
    """

    gamma: float = 2.0

    def __post_init__(self) -> None:
        require_range("gamma", self.gamma, 0)


def _asl(config: AslConfig) -> Method:
    terms = partial(
        asymmetric,
        gamma_positive=config.gamma_positive,
        gamma_negative=config.gamma_negative,
        margin=config.margin,
        detach_weight=config.detach_weight,
        eps=config.eps,
    )
    return ElementwiseMethod("asl", reduced(terms, config.reduction))


def _asl_q2l(config: Q2lConfig) -> Method:
    def terms(logits: Tensor, observed: Tensor) -> Tensor:
        return config.scale * asymmetric(
            logits,
            observed,
            gamma_positive=config.gamma_positive,
            gamma_negative=config.gamma_negative,
            detach_weight=config.detach_weight,
            eps=config.eps,
        )

    return ElementwiseMethod("asl_q2l", terms)


def _focal(config: FocalConfig) -> Method:
    return ElementwiseMethod("focal", partial(focal, gamma=config.gamma))


METHODS = {
    "asl": NamedMethod(
        Info("Asymmetric loss", "Ridnik et al. 2021 (ASL); Zhou et al. 2022, Table 1"),
        AslConfig,
        _asl,
        {"published": AslConfig(detach_weight=True, eps=1e-8, reduction="sum")},
        """Asymmetric loss: negatives lose weight faster than positives, and easy ones drop out.

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
        Info(
            "Simplified asymmetric loss of Query2Label",
            "Liu et al. 2021 (Query2Label); Islam et al., Eq. 11",
        ),
        Q2lConfig,
        _asl_q2l,
        {"published": Q2lConfig(gamma_negative=2.0, detach_weight=True, eps=1e-5, scale=1000.0)},
        """Simplified asymmetric focal loss of Query2Label: no margin, gentle focus on negatives.

    loss = scale x mean over images and classes of -[z=1] (1 - p)^g+ log p - [z!=1] p^g- log(1 - p)

Liu et al. 2021 (Query2Label), with g+ 0 and g- 1; Eq. 11 of the reproduction by Islam et al., which
prints it without the minus. Made for full labels; unknown counts as negative.

The published code and its README have g- 2, raise probabilities to 1e-5 inside logarithms, let no
gradient through the focal weights and multiply the mean by 1000 (``gamma_negative``, ``eps``,
``detach_weight``, ``scale``; preset ``published``).""",
    ),
    "focal": NamedMethod(
        Info("Focal loss", "Lin et al. 2017; Zhou et al. 2022 (EM + APL), Table 1"),
        FocalConfig,
        _focal,
        text="""Focal loss: tags the network gets right count less; unknown counts as negative.

    loss = mean over images and classes of -[z=1] (1 - p)^gamma log p - [z!=1] p^gamma log(1 - p)

Lin et al. 2017, without its class weight; compared in Zhou et al. 2022 (EM + APL), Table 1, whose
code for it is not published. Gamma 2 is Lin's value and that of the multi-label code of Ridnik et
al. 2021 and Zhang et al. 2021.""",
    ),
}
