"""The expected number of positives, and two label estimates that are trained on each other."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tagfill.losses.assume import ignore_unknown
from tagfill.losses.terms import cross_entropy, single


def count_penalty(logits: Tensor, k: float) -> Tensor:
    """Squared relative deviation of the batch's predicted number of positives per image from k.

    R_k = ((sum of p over batch and classes / N - k) / K)^2

    Cole et al. 2021 (MLSPL), Eq. 10.

    Args:
        k: expected number of positives per image.

    Returns:
        Scalar.
    """
    counted = torch.sigmoid(single(logits)).sum(1).mean()
    return ((counted - k) / logits.shape[1]) ** 2


class ExpectedPositives(NamedTuple):
    """Scalar terms of ``expected_positives``: evidence of the labels, and deviation from k."""

    evidence: Tensor
    deviation: Tensor


def expected_positives(
    logits: Tensor,
    observed: Tensor,
    *,
    k: float,
    weight: float | None = None,
    per_class: bool = False,
) -> ExpectedPositives:
    """Known entries by cross-entropy, unknown ones only through the expected number of positives.

    mean over images of sum over known entries of -log p (or -log(1 - p)), plus weight * R_k

    Cole et al. 2021 (MLSPL), Sec. 5.3 (EPR), where no negative is known.

    Args:
        k: expected number of positives per image.
        weight: lambda; None for K.
        per_class: divide the evidence by K.

    Returns:
        Two scalars, already weighted.
    """
    images, classes = logits.shape
    evidence = ignore_unknown(logits, observed).sum() / images
    strength = classes if weight is None else weight
    return ExpectedPositives(
        evidence / classes if per_class else evidence, strength * count_penalty(logits, k)
    )


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
