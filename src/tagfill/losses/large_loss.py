"""Large loss: unknown entries with the largest loss as negatives count as hidden positives.

Kim et al. 2022 (Large Loss Matters). Networks learn clean labels before noisy ones, so that after
an epoch or two the largest losses among assumed negatives belong to the false ones.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from tagfill.losses.assume import assume_negative
from tagfill.losses.selection import largest_unknown
from tagfill.losses.terms import positive_term


def modified_count(entries: int, rate: float) -> int:
    """ceil(entries x rate), robust to rounding of products such as 3 x 0.1."""
    return math.ceil(round(entries * rate, 9))


def large_loss_rejection(logits: Tensor, observed: Tensor, *, count: int) -> Tensor:
    """Assume negative, without the ``count`` unknown entries of largest loss (LL-R).

    Args:
        count: number of entries of the batch that are left out.
    """
    rejected = largest_unknown(logits, observed, count)
    return torch.where(rejected, 0.0, assume_negative(logits, observed))


def large_loss_correction(logits: Tensor, observed: Tensor, *, count: int) -> Tensor:
    """Assume negative, the ``count`` unknown entries of largest loss counted as positive (LL-Ct).

    Args:
        count: how many entries of the batch count as positive.
    """
    corrected = largest_unknown(logits, observed, count)
    return torch.where(corrected, positive_term(logits), assume_negative(logits, observed))
