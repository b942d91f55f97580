"""Focal losses: easy entries count less, and easy negatives less than easy positives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from tagfill.losses.focusing import asymmetric, focal
from tagfill.methods._settings import Reduction, Settings, setting
from tagfill.methods.base import Info, NamedMethod, elementwise


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


METHODS = {
    "asl": NamedMethod(
        Info("Asymmetric loss", "Ridnik et al. 2021 (ASL); Zhou et al. 2022, Table 1"),
        AslConfig,
        elementwise("asl", asymmetric),
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
        elementwise("asl_q2l", _scaled),
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
        elementwise("focal", focal),
        text="""Focal loss: tags the network gets right count less; unknown counts as negative.

    loss = mean over images and classes of -[z=1] (1 - p)^gamma log p - [z!=1] p^gamma log(1 - p)

Lin et al. 2017, without its class weight; compared in Zhou et al. 2022 (EM + APL), Table 1, whose
code for it is not published. Gamma 2 is Lin's value and that of the multi-label code of Ridnik et
al. 2021 and Zhang et al. 2021.""",
    ),
}
