"""Partial BCE: ignore unknown entries, and weigh each image by how many of its entries are known.

    loss = mean over images and classes of w(r) * (-[z=1] log p - [z=0] log(1 - p)),
    r the share of known entries of the image

Cole et al. 2021 (MLSPL), Sec. 4.2: ``iu`` weighted by the number of observed labels, w = r here, so
that a fully labeled image weighs 1. They say that this is the loss of Durand et al. 2019 up to
scaling; that paper itself (its Eq. 2-3) gives images with fewer labels the larger weight,
w = alpha r^gamma + beta with -4.45, 5.45 and 1. That is ``weighting = "durand"``. Needs known
negatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from tagfill.losses.partial import count_weight, durand_weight, partial_cross_entropy
from tagfill.methods.base import ElementwiseMethod, Info, Method, Needs

INFO = Info(
    title="Cross-entropy on known entries, weighted by their number",
    source="Durand et al. 2019, Eq. 2-3; Cole et al. 2021 (MLSPL), Sec. 4.2",
    needs=Needs(negatives=True),
)


@dataclass(frozen=True)
class Config:
    """Hyper-parameters.

    Args:
        weighting: "count" for w = r, "durand" for w = -4.45 r + 5.45.
    """

    weighting: Literal["count", "durand"] = "count"


def build(config: Config) -> Method:
    weight = count_weight if config.weighting == "count" else durand_weight

    def terms(logits: Tensor, observed: Tensor) -> Tensor:
        return partial_cross_entropy(logits, observed, weight(observed))

    return ElementwiseMethod("partial_bce", terms)
