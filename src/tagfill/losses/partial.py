"""Cross-entropy on known entries, weighted by how many of an image's entries are known."""

from __future__ import annotations

from torch import Tensor

from tagfill.losses.assume import ignore_unknown

DURAND = (-4.45, 5.45, 1.0)
"""alpha, beta, gamma with which a tenth of the labels weighs 5 and all of them 1."""


def count_weight(observed: Tensor) -> Tensor:
    """Share of known entries of each image.

    Cole et al. 2021 (MLSPL), Sec. 4.2, scaled so that a fully labeled image weighs 1.

    Returns:
        [N, 1] weights.
    """
    return (observed >= 0).float().mean(1, keepdim=True)


def durand_weight(
    observed: Tensor, alpha: float = DURAND[0], beta: float = DURAND[1], gamma: float = DURAND[2]
) -> Tensor:
    """alpha r^gamma + beta with r the share of known entries; 0 where nothing is known.

    Durand et al. 2019, "Learning a Deep ConvNet for Multi-label Classification with Partial
    Labels", Eq. 2-3: images with few labels weigh more.

    Args:
        alpha: slope.
        beta: weight of an image with a vanishing share of labels.
        gamma: exponent.

    Returns:
        [N, 1] weights.
    """
    share = count_weight(observed)
    return (alpha * share**gamma + beta) * (share > 0)


def partial_cross_entropy(logits: Tensor, observed: Tensor, weight: Tensor) -> Tensor:
    """``ignore_unknown`` times each image's weight.

    Args:
        weight: [N, 1].
    """
    terms = ignore_unknown(logits, observed)
    return weight.to(terms.dtype) * terms
