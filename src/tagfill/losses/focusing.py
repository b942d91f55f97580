"""Focal losses, and losses that tolerate false negatives among unknown entries.

With ``detach_weight`` no gradient flows through the focal weights; probabilities inside logarithms
are raised to ``eps``; negatives with p below ``margin`` cost nothing.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from tagfill.losses.terms import by_label, guarded_terms, negative_term, positive_term, single


def focal(logits: Tensor, observed: Tensor, *, gamma: float = 2.0) -> Tensor:
    """Cross-entropy weighted by how far an entry is from right, unknown counted as negative.

    -[z=1] (1 - p)^gamma log p - [z!=1] p^gamma log(1 - p)

    Lin et al. 2017 (focal loss), without its class weight; gamma 0 gives plain cross-entropy.
    """
    return asymmetric(logits, observed, gamma_positive=gamma, gamma_negative=gamma)


def asymmetric(
    logits: Tensor,
    observed: Tensor,
    *,
    gamma_positive: float = 0.0,
    gamma_negative: float = 4.0,
    margin: float = 0.0,
    detach_weight: bool = False,
    eps: float = 0.0,
) -> Tensor:
    """Focal loss with a separate focus for negatives, unknown counted as negative.

    -[z=1] (1 - p)^g+ log p - [z!=1] q^g- log(1 - q),  q = max(p - margin, 0)

    Ridnik et al. 2021 (ASL) with a margin; Liu et al. 2021 (Query2Label) without one. g+ and g- are
    ``gamma_positive`` and ``gamma_negative``.
    """
    positive = focal_positive(logits, gamma_positive, detach_weight, eps)
    negative = focal_negative(logits, gamma_negative, margin, detach_weight, eps)
    return by_label(observed, positive, negative, negative)


def partial_asymmetric(
    logits: Tensor,
    observed: Tensor,
    *,
    gammas: tuple[float, float, float] = (0.0, 1.0, 4.0),
    alphas: tuple[float, float, float] = (1.0, 1.0, 1.0),
    margin: float = 0.0,
    detach_weight: bool = False,
    eps: float = 0.0,
) -> Tensor:
    """Asymmetric loss in which unknown entries are negatives with a focus and weight of their own.

    -[z=1] a+ (1 - p)^g+ log p - [z=0] a- q^g- log(1 - q) - [z=-1] au q^gu log(1 - q)

    Ben-Baruch et al. 2022 (CSL), the partial asymmetric loss; q as in ``asymmetric``.
    ``gammas`` are (g+, g-, gu), ``alphas`` (a+, a-, au).
    """
    return by_label(
        observed,
        alphas[0] * focal_positive(logits, gammas[0], detach_weight, eps),
        alphas[1] * focal_negative(logits, gammas[1], margin, detach_weight, eps),
        alphas[2] * focal_negative(logits, gammas[2], margin, detach_weight, eps),
    )


def focal_positive(
    logits: Tensor, gamma: float, detach_weight: bool = False, eps: float = 0.0
) -> Tensor:
    """-(1 - p)^gamma log p, elementwise."""
    weight = torch.exp(-gamma * negative_term(logits))
    return _weighted(weight, positive_term(logits), detach_weight, eps)


def focal_negative(
    logits: Tensor,
    gamma: float,
    margin: float = 0.0,
    detach_weight: bool = False,
    eps: float = 0.0,
) -> Tensor:
    """-q^gamma log(1 - q) with q = max(p - margin, 0), elementwise."""
    if margin == 0:
        weight = torch.exp(-gamma * positive_term(logits))
        return _weighted(weight, negative_term(logits), detach_weight, eps)
    logits = single(logits)
    probability = torch.sigmoid(logits)
    counts = probability > margin
    shifted = torch.where(counts, probability - margin, 0.5)
    rest = torch.where(counts, torch.sigmoid(-logits) + margin, 0.5)  # 1 - q, exact near q = 1
    term = _weighted(shifted**gamma, -torch.log(rest), detach_weight, eps)
    return torch.where(counts, term, 0.0)


def _weighted(weight: Tensor, term: Tensor, detach_weight: bool, eps: float) -> Tensor:
    if eps > 0:
        term = term.clamp(max=-math.log(eps))
    return (weight.detach() if detach_weight else weight) * term


def hill(
    logits: Tensor,
    observed: Tensor,
    *,
    lam: float = 1.5,
    margin: float = 1.0,
    gamma: float = 2.0,
) -> Tensor:
    """Focal loss with a margin on positives; a hill of gradient on unknown entries.

    -[z=1] (1 - q)^gamma log q - [z=0] log(1 - p) + [z=-1] (lam - p) p^2
    with q = sigmoid(logit - margin)

    With lam = 1.5 the unknown term's gradient by p falls to 0 at p = 1: a confident guess is not
    pushed down. Zhang et al. 2021 (Hill and SPLC), whose labels are positive or unknown; certain
    negatives cost plain cross-entropy here.
    """
    probability = torch.sigmoid(logits)
    positive = focal_positive(logits - margin, gamma)
    return by_label(
        observed, positive, negative_term(logits), (lam - probability) * probability.square()
    )


def self_paced_correction(
    logits: Tensor,
    observed: Tensor,
    *,
    tau: float | None = 0.6,
    margin: float = 1.0,
    gamma: float = 2.0,
    margin_on_corrected: bool = True,
) -> Tensor:
    """Focal loss with a margin on positives; unknown entries with p > tau count as positive.

    -[positive] (1 - q)^gamma log q - [else] p^gamma log(1 - p),  q = sigmoid(logit - margin)

    Zhang et al. 2021 (Hill and SPLC). Observed negatives are never corrected.

    Args:
        tau: None corrects nothing.
        margin_on_corrected: corrected entries have the margin too (the published code: not).
    """
    positive = focal_positive(logits - margin, gamma)
    negative = focal_negative(logits, gamma)
    if tau is None:
        return by_label(observed, positive, negative, negative)
    corrected = positive if margin_on_corrected else focal_positive(logits, gamma)
    believed = torch.sigmoid(logits.detach()) > tau
    return by_label(observed, positive, negative, torch.where(believed, corrected, negative))


def generalized_robust(
    logits: Tensor,
    observed: Tensor,
    *,
    slope: float,
    bias: float,
    mean: float,
    spread: float,
    q_positive: float = 0.01,
    q_negative: float = 1.0,
    eps: float = 0.0,
) -> Tensor:
    """Expected robust loss of an unknown entry under a soft pseudo-label.

    -[z=1] log p - [z=0] log(1 - p)
    + [z=-1] v (k (1 - p^q2) / q2 + (1 - k) (1 - (1 - p)^q3) / q3)

    with k = sigmoid(slope p + bias), the chance that the entry is positive (the paper's w, b), and
    v = exp(-(p - mean)^2 / (2 spread^2)), its weight (mu, sigma); no gradient flows through either.
    Chen et al. 2024 (GR loss), whose labels are positive or unknown.

    Args:
        q_positive: q2; towards 0 the term becomes -log p, at 1 it is 1 - p.
        q_negative: q3, the same for 1 - p.
        eps: added to p inside the logarithm of observed entries; the published code has 1e-7.
    """
    probability = torch.sigmoid(logits.detach())
    chance = torch.sigmoid(slope * probability + bias)
    weight = torch.exp(-((probability - mean) ** 2) / (2 * spread**2))
    if_positive = -torch.expm1(-q_positive * positive_term(logits)) / q_positive
    if_negative = -torch.expm1(-q_negative * negative_term(logits)) / q_negative
    unknown = weight * (chance * if_positive + (1 - chance) * if_negative)
    return by_label(observed, *guarded_terms(logits, eps), unknown)
