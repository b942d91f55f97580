"""Cross-entropy on known entries: unknown ones are left out, or drawn as negatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from tagfill.losses.assume import (
    count_weight,
    durand_weight,
    ignore_unknown,
    partial_cross_entropy,
    sample_unknown,
    sampled_negative,
)
from tagfill.methods._settings import Settings, setting
from tagfill.methods.base import Info, LossTerms, Method, NamedMethod, Needs, Step, elementwise


@dataclass(frozen=True)
class PartialConfig(Settings):
    weighting: Literal["count", "durand"] = setting(
        "count", '"count" for w = r, "durand" for w = -4.45 r + 5.45'
    )


class PseudoNegative(Method):
    """Draws again at every step."""

    def loss(self, step: Step) -> LossTerms:
        chosen = sample_unknown(step.observed, step.generator)
        terms = sampled_negative(step.output.logits, step.observed, chosen)
        return {"pseudo_negative": terms.mean()}


def _partial(logits: Tensor, observed: Tensor, *, weighting: str) -> Tensor:
    weight = count_weight if weighting == "count" else durand_weight
    return partial_cross_entropy(logits, observed, weight(observed))


METHODS = {
    "iu": NamedMethod(
        Info("Ignore unknown (IU)", "Cole et al. 2021 (MLSPL), Eq. 6", Needs(negatives=True)),
        Settings,
        elementwise("iu", ignore_unknown),
        text="""Ignore unknown: cross-entropy on known entries only.

    loss = mean over images and classes of -[z=1] log p - [z=0] log(1 - p)

Cole et al. 2021 (MLSPL), Eq. 6. The mean is over all entries, known or not, as in the paper. Needs
known positives and known negatives: with positives alone, predicting every tag is optimal. The
published code computes the same but stops at a batch that lacks either kind; here only the whole
training set needs both.""",
    ),
    "partial_bce": NamedMethod(
        Info(
            "Cross-entropy on known entries, weighted by their number",
            "Durand et al. 2019, Eq. 2-3; Cole et al. 2021 (MLSPL), Sec. 4.2",
            Needs(negatives=True),
        ),
        PartialConfig,
        elementwise("partial_bce", _partial),
        text="""Partial BCE: unknown entries are left out, and images weighed by their known ones.

    loss = mean over images and classes of w(r) * (-[z=1] log p - [z=0] log(1 - p)),
    r the share of known entries of the image

Cole et al. 2021 (MLSPL), Sec. 4.2: ``iu`` weighted by the number of observed labels, w = r here, so
that a fully labeled image weighs 1. They say that this is the loss of Durand et al. 2019 up to
scaling; that paper itself (its Eq. 2-3) gives images with fewer labels the larger weight,
w = alpha r^gamma + beta with -4.45, 5.45 and 1. That is ``weighting = "durand"``. Needs known
negatives.""",
    ),
    "pseudo_negative": NamedMethod(
        Info("Pseudo-negative sampling", "Cole et al. 2021 (MLSPL), Sec. 5.1"),
        Settings,
        lambda config: PseudoNegative(),
        text="""Pseudo-negative sampling: one unknown tag of an image counts as absent at a visit.

    loss = mean over images and classes of -[z=1] log p - ([z=0] + eta) log(1 - p),
    eta = 1 for one unknown entry of each image, drawn uniformly again at every visit

Cole et al. 2021 (MLSPL), Sec. 5.1, "Connection to pseudo-negative sampling". In expectation it is
``wan``; the noise of the draw is what differs. Not in the published code. Known negatives count as
such and are not drawn.""",
    ),
}
