"""Cross-entropy on known entries: without the others, with draws of them, or with all known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from torch import Tensor

from tagfill.errors import TagfillError
from tagfill.linear.problem import LinearProblem, LinearWeights, solve_elementwise
from tagfill.losses.assume import (
    count_weight,
    durand_weight,
    ignore_unknown,
    ignore_unknown_smoothed,
    ignore_unobserved_negatives,
    partial_cross_entropy,
    sample_unknown,
    sampled_negative,
)
from tagfill.methods._settings import Settings, setting
from tagfill.methods.assumed import PUBLISHED, SmoothingConfig
from tagfill.methods.base import (
    ElementwiseMethod,
    LossTerms,
    Method,
    NamedMethod,
    Needs,
    Setup,
    Step,
    elementwise,
    require_positives,
)


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


class Oracle(ElementwiseMethod):
    """The mean over known entries of a pure loss of the full labels, 0 at unknown entries."""

    def loss(self, step: Step) -> LossTerms:
        labels = step.observed if step.truth is None else step.truth
        known = (labels >= 0).sum().clamp(min=1)
        return {self.name: self.terms(step.output.logits, labels).sum() / known}

    def solve(self, problem: LinearProblem) -> LinearWeights | None:
        """By L-BFGS, if an L2 penalty is set."""
        labels = problem.observed if problem.truth is None else problem.truth
        return solve_elementwise(problem, labels, self.terms)


class TrueNegatives(Method):
    """Cross-entropy on observed positives and true negatives."""

    def start(self, setup: Setup) -> None:
        """Refuse labels whose truth is not known."""
        require_positives(setup.observed, "iun")
        if setup.truth is None and bool((setup.observed < 0).any()):
            raise TagfillError(
                "iun cannot start: it needs the full labels behind the unknown ones",
                remedy="hide labels of a fully labeled set with `tagfill mask`, or use `iu`",
            )

    def loss(self, step: Step) -> LossTerms:
        truth = step.observed if step.truth is None else step.truth
        terms = ignore_unobserved_negatives(step.output.logits, step.observed, truth)
        return {"iun": terms.mean()}


METHODS = {
    "iu": NamedMethod(
        "Ignore unknown (IU)",
        "Cole et al. 2021 (MLSPL), Eq. 6",
        Settings,
        elementwise("iu", ignore_unknown),
        needs=Needs(negatives=True),
        text="""Ignore unknown: cross-entropy on known entries only.

    loss = mean over images and classes of -[z=1] log p - [z=0] log(1 - p)

Cole et al. 2021 (MLSPL), Eq. 6. The mean is over all entries, known or not, as in the paper. Needs
known positives and known negatives: with positives alone, predicting every tag is optimal. The
published code computes the same but stops at a batch that lacks either kind; here only the whole
training set needs both.""",
    ),
    "partial_bce": NamedMethod(
        "Cross-entropy on known entries, weighted by their number",
        "Durand et al. 2019, Eq. 2-3; Cole et al. 2021 (MLSPL), Sec. 4.2",
        PartialConfig,
        elementwise("partial_bce", _partial),
        needs=Needs(negatives=True),
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
        "Pseudo-negative sampling",
        "Cole et al. 2021 (MLSPL), Sec. 5.1",
        Settings,
        lambda config: PseudoNegative(),
        text="""Pseudo-negative sampling: one unknown tag of an image counts as absent at a visit.

    loss = mean over images and classes of -[z=1] log p - ([z=0] + eta) log(1 - p),
    eta = 1 for one unknown entry of each image, drawn uniformly again at every visit

Cole et al. 2021 (MLSPL), Sec. 5.1, "Connection to pseudo-negative sampling". In expectation it is
``wan``; the noise of the draw is what differs. Not in the published code. Known negatives count as
such and are not drawn.""",
    ),
    "bce": NamedMethod(
        "Binary cross-entropy on full labels (oracle where labels are masked)",
        "Cole et al. 2021 (MLSPL), Eq. 5",
        Settings,
        lambda config: Oracle("bce", ignore_unknown),
        needs=Needs(truth=True, negatives=True),
        text="""Binary cross-entropy on the full labels: the best that training could reach.

    loss = mean over images and classes of -[y=1] log p - [y=0] log(1 - p)

Cole et al. 2021 (MLSPL), Eq. 5. Where labels were masked this is an oracle: it trains on the truth
behind them. Where there is no separate truth it trains on the labels as they are; entries that are
unknown even then count nothing, and the mean is over the known entries of the batch. The published
code computes the same on full labels.""",
    ),
    "bce_ls": NamedMethod(
        "Binary cross-entropy with label smoothing (oracle where labels are masked)",
        "Cole et al. 2021 (MLSPL), Table 1",
        SmoothingConfig,
        lambda config: Oracle("bce_ls", partial(ignore_unknown_smoothed, eps=config.eps)),
        needs=Needs(truth=True, negatives=True),
        presets=PUBLISHED,
        text="""Binary cross-entropy with label smoothing on the full labels.

    loss = mean over images and classes of -t log p - (1 - t) log(1 - p),
    t = 1 - eps / 2 where y=1, eps / 2 where y=0

Cole et al. 2021 (MLSPL), Table 1 ("BCE-LS"), with eps = 0.1 as in their Eq. 9. An oracle where
labels were masked; otherwise as ``bce`` says.

Published code: smooths by 0.1 where the equation has eps / 2 = 0.05; the preset ``published`` has
eps = 0.2, which is the same.""",
    ),
    "iun": NamedMethod(
        "Observed positives and all true negatives (IUN, oracle)",
        "Cole et al. 2021 (MLSPL), Eq. 7",
        Settings,
        lambda config: TrueNegatives(),
        needs=Needs(truth=True),
        text="""Observed positives and, unrealistically, all true negatives; the rest is ignored.

    loss = mean over images and classes of -[z=1] log p - [y=0] log(1 - p)

Cole et al. 2021 (MLSPL), Eq. 7 ("IUN"). An oracle half-way between ``bce`` and the methods for
single positives: it shows what the false negatives of ``an`` cost.

Published code: looks for true negatives under a code they do not have, so that its loss never sees
a negative. That is a mistake and is not copied.""",
    ),
}
