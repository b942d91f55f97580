"""Predictions for one view of an image as labels of another view."""

from __future__ import annotations

import torch
from torch import Tensor

from tagfill.losses.assume import ignore_unknown


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
