"""Hill loss: unknown tags with high probability are not pushed down.

    loss = mean over images and classes of
           -[z=1] (1 - q)^gamma log q - [z=0] log(1 - p) + [z=-1] (lam - p) p^2,
           q = sigmoid(logit - margin)

Zhang et al. 2021 (Hill and SPLC). The paper has positive and unknown only; observed negatives
are certain and cost their cross-entropy here.

The published code sums over the batch instead of taking the mean (``reduction``; preset
``published``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tagfill.losses.robust import hill
from tagfill.methods._settings import Reduction, reduced, require_range
from tagfill.methods.base import ElementwiseMethod, Info, Method

INFO = Info(title="Hill loss", source="Zhang et al. 2021 (Hill and SPLC)")


@dataclass(frozen=True)
class Config:
    """Settings of the Hill loss.

    Args:
        lam: lambda of the unknown term.
        margin: on the logits of positives.
        gamma: focus of positives.
        reduction: "mean" or "sum" over the batch.
    """

    lam: float = 1.5
    margin: float = 1.0
    gamma: float = 2.0
    reduction: Reduction = "mean"

    def __post_init__(self) -> None:
        require_range("lam", self.lam, 1)
        require_range("gamma", self.gamma, 0)


PRESETS = {"published": Config(reduction="sum")}


def build(config: Config) -> Method:
    terms = partial(hill, lam=config.lam, margin=config.margin, gamma=config.gamma)
    return ElementwiseMethod("hill", reduced(terms, config.reduction))
