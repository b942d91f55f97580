"""Contrastive losses: embeddings of one class together, others apart."""

from __future__ import annotations

import torch
from torch import Tensor

from tagfill.losses.terms import single


def label_aware_consistency(
    similarity: Tensor, anchor_classes: Tensor, key_classes: Tensor, *, mean: bool = False
) -> Tensor:
    """For each anchor, how much nearer keys of other classes are than keys of its own.

    - sum over keys k' of its class of log(exp s_k' / sum over keys t of other classes of exp s_t)

    Xie et al. 2022 (LAC), Eq. 5-7, before the mean. An anchor without a key of another class, for
    which the equation is undefined, costs nothing.

    Args:
        similarity: [A, M] inner products over the temperature; where an anchor is a key too, that
            of its two views.
        anchor_classes: [A].
        key_classes: [M].
        mean: take the mean over the keys of an anchor's class instead of the sum.

    Returns:
        [A] terms.
    """
    similarity = single(similarity)
    same = anchor_classes[:, None] == key_classes
    contrasted = (~same).any(dim=1, keepdim=True)
    others = _log_sum_exp(similarity, ~same, contrasted)
    terms = (same & contrasted).to(similarity.dtype).mul(others - similarity).sum(dim=1)
    return terms / same.sum(dim=1).clamp(min=1) if mean else terms


def supervised_contrast(similarity: Tensor, classes: Tensor) -> Tensor:
    """For each entry, the mean surprise at the others of its class among all others.

    - mean over k' != k of its class of log(exp s_k' / sum over t != k of exp s_t)

    Khosla et al. 2020, L_out; what the published code of LAC runs over its whole queue. An entry
    that is alone in its class costs nothing.

    Args:
        similarity: [M, M] inner products over the temperature.
        classes: [M].

    Returns:
        [M] terms.
    """
    similarity = single(similarity)
    others = ~torch.eye(len(classes), dtype=torch.bool, device=classes.device)
    same = (classes[:, None] == classes) & others
    everyone = _log_sum_exp(similarity, others, others.any(dim=1, keepdim=True))
    surprise = same.to(similarity.dtype).mul(everyone - similarity).sum(dim=1)
    return surprise / same.sum(dim=1).clamp(min=1)


def _log_sum_exp(values: Tensor, mask: Tensor, rows: Tensor) -> Tensor:
    """[A, 1] over the masked entries of the rows that have any; other rows get a finite value."""
    return values.masked_fill(~mask & rows, float("-inf")).logsumexp(dim=1, keepdim=True)
