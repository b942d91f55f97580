"""Consistency of two views of an image, and of the embeddings of one class."""

from __future__ import annotations

import torch
from torch import Tensor

from tagfill.losses.assume import ignore_unknown
from tagfill.losses.terms import single


def confident_labels(
    logits: Tensor, observed: Tensor, *, threshold: float, include_observed: bool = False
) -> Tensor:
    """Labels of confident predictions: 1 where p >= delta, 0 where p <= 1 - delta.

    Xie et al. 2022 (LAC), the indicators of Eq. 4. At p = delta = 0.5 the label is 1.

    Args:
        logits: [N, K] raw scores of the view that labels; no gradient flows through them.
        threshold: delta, from 0.5 to 1.
        include_observed: keep observed labels as they are instead of leaving those entries out.

    Returns:
        [N, K] labels 1, 0, -1 of the type of ``observed``.
    """
    probability = torch.sigmoid(logits.detach())
    labels = torch.full_like(observed, -1)
    labels[probability <= 1 - threshold] = 0
    labels[probability >= threshold] = 1
    rest = observed if include_observed else torch.full_like(observed, -1)
    return torch.where(observed == -1, labels, rest)


def pseudo_label_consistency(
    strong: Tensor,
    weak: Tensor,
    observed: Tensor,
    *,
    threshold: float,
    include_observed: bool = False,
) -> tuple[Tensor, Tensor]:
    """Cross-entropy of one view with the confident predictions of the other.

    -[p_w >= delta] log p_s - [p_w <= 1 - delta] log(1 - p_s) on unknown entries

    Xie et al. 2022 (LAC), Eq. 4.

    Args:
        strong: [N, K] raw scores of the view that is trained.
        weak: [N, K] raw scores of the view that labels; no gradient flows through them.
        threshold: delta.
        include_observed: train observed entries too, on their labels.

    Returns:
        [N, K] terms, 0 where the prediction is not confident, and [N, K] which entries count.
    """
    labels = confident_labels(
        weak, observed, threshold=threshold, include_observed=include_observed
    )
    return ignore_unknown(strong, labels), labels >= 0


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
