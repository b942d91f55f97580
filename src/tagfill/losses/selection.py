"""Which unknown entries get a pseudo-label, change sides or are left out.

Large loss is Kim et al. 2022 (Large Loss Matters): networks learn clean labels before noisy ones,
so that after an epoch or two the largest losses among assumed negatives belong to the false ones.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from tagfill.losses.assume import assume_negative
from tagfill.losses.terms import positive_term


def lowest_per_class(scores: Tensor, candidates: Tensor, counts: Tensor) -> Tensor:
    """For every class the candidates with the lowest scores.

    Zhou et al. 2022 (EM + APL), the set U'_c of Eq. 6.

    Args:
        scores: [N, K].
        candidates: [N, K] booleans, entries that may be chosen.
        counts: [K] integers, how many of each class; all candidates where there are fewer.

    Returns:
        [N, K] booleans, true for the chosen entries.
    """
    order = scores.masked_fill(~candidates, float("inf")).argsort(dim=0, stable=True)
    places = torch.arange(len(scores), device=scores.device)[:, None].expand_as(order)
    rank = torch.empty_like(order).scatter_(0, order, places)
    return candidates & (rank < counts.to(rank))


def largest_unknown(logits: Tensor, observed: Tensor, count: int) -> Tensor:
    """The unknown entries of a batch with the largest losses as negatives.

    The loss -log(1 - p) grows with the logit, so the logits are ranked.

    Args:
        count: how many, at most as many as are unknown.

    Returns:
        [N, K] booleans, true for the chosen entries.
    """
    entries = torch.nonzero(observed.flatten() == -1).squeeze(1)
    count = min(count, entries.numel())
    top = torch.topk(logits.detach().flatten()[entries], count).indices
    chosen = torch.zeros(logits.numel(), dtype=torch.bool, device=logits.device)
    chosen[entries[top]] = True
    return chosen.view(logits.shape)


def likely_or_common(
    logits: Tensor,
    observed: Tensor,
    class_prior: Tensor,
    *,
    per_image: int = 5,
    prior_threshold: float = 0.5,
) -> Tensor:
    """Unknown entries too likely to be positive to be called negative.

    These are the ``per_image`` x N unknown entries with the highest scores in the batch, and all
    unknown entries of classes with a prior above the threshold.

    Ben-Baruch et al. 2022 (CSL), the sets of label likelihood and label prior.

    Args:
        class_prior: [K] share of positives of each class.
        per_image: likelihood top-k.
        prior_threshold: eta.

    Returns:
        [N, K] booleans, true for the entries to leave out; observed entries never are.
    """
    likely = largest_unknown(logits, observed, per_image * logits.shape[0])
    common = (observed == -1) & (class_prior > prior_threshold)
    return likely | common


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
