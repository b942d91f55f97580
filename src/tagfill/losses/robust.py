"""Losses that tolerate false negatives among unknown entries: Hill, SPLC, generalized robust."""

from __future__ import annotations

import torch
from torch import Tensor

from tagfill.losses.focusing import focal_negative, focal_positive
from tagfill.losses.terms import by_label, guarded_terms, negative_term, positive_term


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
