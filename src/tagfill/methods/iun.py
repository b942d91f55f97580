"""Ignore unobserved positives: the observed positives and, unrealistically, all true negatives.

    loss = mean over images and classes of -[z=1] log p - [y=0] log(1 - p)

Cole et al. 2021 (MLSPL), Eq. 7 ("IUN"). An oracle half-way between ``bce`` and the methods for
single positives: it shows what the false negatives of ``an`` cost.

Published code: looks for true negatives under a code they do not have, so that its loss never sees
a negative. That is a mistake and is not copied.
"""

from __future__ import annotations

from dataclasses import dataclass

from tagfill.errors import TagfillError
from tagfill.losses.assume import ignore_unobserved_negatives
from tagfill.methods.base import Info, LossTerms, Method, Needs, Setup, Step, require_positives

INFO = Info(
    title="Observed positives and all true negatives (IUN, oracle)",
    source="Cole et al. 2021 (MLSPL), Eq. 7",
    needs=Needs(truth=True),
)


@dataclass(frozen=True)
class Config:
    """Nothing to set."""


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


def build(config: Config) -> Method:
    return TrueNegatives()
