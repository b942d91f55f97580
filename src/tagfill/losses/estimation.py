"""Two label estimates, a network's and a table's, trained on each other."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tagfill.losses.regularize import expected_positives
from tagfill.losses.terms import cross_entropy, single


class Estimation(NamedTuple):
    """Scalar terms of ``learn_from``: agreement with the other, labels, distance from k."""

    agreement: Tensor
    evidence: Tensor
    deviation: Tensor

    @property
    def total(self) -> Tensor:
        """Their sum."""
        return self.agreement + self.evidence + self.deviation


def learn_from(
    logits: Tensor,
    other: Tensor,
    observed: Tensor,
    *,
    k: float,
    weight: float | None = None,
    per_class: bool = False,
) -> Estimation:
    """One side of regularized online label estimation: ``logits`` learn, ``other`` is fixed.

    L'(F | Y) = mean of CE(p, stop-gradient(q)) + L_EPR(F, Z)

    Cole et al. 2021 (MLSPL), Eq. 11. ROLE is the mean of L'(F | Y) and L'(Y | F).

    Args:
        logits: [N, K] of the side that learns.
        other: [N, K] logits of the other side.
        k: expected number of positives per image.
        weight: lambda of the count; None for K.
        per_class: divide the evidence by K.

    Returns:
        Three scalars, already weighted.
    """
    target = torch.sigmoid(single(other.detach()))
    evidence, deviation = expected_positives(
        logits, observed, k=k, weight=weight, per_class=per_class
    )
    return Estimation(cross_entropy(logits, target).mean(), evidence, deviation)
