"""Knowledge transfer between images and classes of a batch: losses of SST and SARB."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from tagfill.losses.assume import ignore_unknown
from tagfill.losses.focusing import focal_negative, focal_positive
from tagfill.losses.terms import cross_entropy, single

PER_PAIR = 2
"""Dissimilar pairs drawn at random for each similar one; as many of the hardest join them."""


def known_mean(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy over the known entries, 0 where there are none.

    Args:
        labels: [N, K] labels 1, 0, -1.
    """
    return ignore_unknown(logits, labels).sum() / (labels >= 0).sum().clamp(min=1)


def blended_mean(logits: Tensor, labels: Tensor, soft: Tensor, blended: Tensor) -> Tensor:
    """``known_mean`` in which blended entries have soft positive labels.

    Pu et al. 2022 (SARB), the loss of blended features.

    Args:
        labels: [N, K] labels 1, 0, -1.
        soft: label of a blended entry, a scalar in 0..1.
        blended: [N, K] booleans.
    """
    known = ignore_unknown(logits, labels)
    terms = torch.where(blended, cross_entropy(logits, soft), known)
    return terms.sum() / ((labels >= 0) | blended).sum().clamp(min=1)


def label_contrast(
    features: Tensor, observed: Tensor, generator: torch.Generator | None = None
) -> Tensor:
    """Features of a class alike in images that show it, unlike in all other known pairs.

    1 - cos for pairs of positives, 1 + cos for a positive and a negative and for two negatives; of
    the latter two kinds as many of the hardest as there are pairs of positives, and twice as many
    at random. Chen et al. 2022 (SST) and Pu et al. 2022 (SARB), as their code has it.

    Args:
        features: [N, K, D] label-wise features.
        generator: of the random pairs.

    Returns:
        Mean over the pairs; 0 where there are none.
    """
    features = single(features)
    first, second = torch.triu_indices(len(features), len(features), 1, device=features.device)
    cosine = F.cosine_similarity(features[first], features[second], dim=2, eps=1e-9)
    one, other = observed[first], observed[second]
    alike = (1 - cosine)[(one == 1) & (other == 1)]
    mixed = (1 + cosine)[((one == 1) & (other == 0)) | ((one == 0) & (other == 1))]
    absent = (1 + cosine)[(one == 0) & (other == 0)]
    if len(alike):
        mixed = _some(mixed, len(alike), generator)
        absent = _some(absent, len(alike), generator)
    terms = torch.cat([alike, mixed, absent])
    return terms.mean() if len(terms) else features.sum() * 0


def co_occurrence(logits: Tensor, observed: Tensor) -> Tensor:
    """Asymmetric loss of whether two classes are both observed in an image.

    Chen et al. 2022 (SST): focus 1 on pairs, 2 on all others, margin 0.05.

    Args:
        logits: [N, P] raw scores of the pairs (i, j), i < j, row by row.
        observed: [N, K] labels; a pair is positive where both are.

    Returns:
        [N, P] terms.
    """
    positive = observed == 1
    first, second = torch.triu_indices(observed.shape[1], observed.shape[1], 1)
    both = positive[:, first] & positive[:, second]
    return torch.where(both, focal_positive(logits, 1.0), focal_negative(logits, 2.0, 0.05))


def _some(terms: Tensor, count: int, generator: torch.Generator | None) -> Tensor:
    if not len(terms):
        return terms
    drawn = torch.randperm(len(terms), generator=generator)[: PER_PAIR * count]
    return torch.cat([terms[drawn.to(terms.device)], terms.sort(descending=True).values[:count]])
