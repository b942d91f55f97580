"""Regularizers of the predictions of a batch."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from tagfill.losses.assume import ignore_unknown
from tagfill.losses.terms import single


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
