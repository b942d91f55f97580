"""Losses that raise or lower the entropy of what the network says about unknown entries."""

from __future__ import annotations

import torch
from torch import Tensor

from tagfill.losses.terms import by_label, guarded_terms, single


def entropy_maximization(
    logits: Tensor, observed: Tensor, *, alpha: float, eps: float = 0.0
) -> Tensor:
    """Cross-entropy on observed entries; unknown ones are rewarded for being uncertain.

    -[z=1] log p - [z=0] log(1 - p) - [z=-1] alpha H(p)

    Zhou et al. 2022 (EM), Eq. 3 and 4, whose gradient by the logit is Eq. 5. There z=0 does not
    occur: labels are positive or unknown.

    Args:
        eps: added to probabilities inside every logarithm; the published code has 1e-5.
    """
    positive, negative = guarded_terms(logits, eps)
    return by_label(observed, positive, negative, -alpha * _entropy(logits, positive, negative))


def entropy_minimization(
    logits: Tensor, observed: Tensor, *, weight: float, assume_negative: bool = False
) -> Tensor:
    """Cross-entropy on observed entries; unknown ones are pushed to the nearer of 0 and 1.

    -[z=1] log p - [z=0] log(1 - p) + [z=-1] weight H(p)

    Grandvalet and Bengio 2004, as compared in Zhou et al. 2022 (EM), Table 1. With
    ``assume_negative``, -log(1 - p) of unknown entries is added.
    """
    positive, negative = guarded_terms(logits)
    unknown = weight * _entropy(logits, positive, negative)
    if assume_negative:
        unknown = unknown + negative
    return by_label(observed, positive, negative, unknown)


def entropy_with_pseudo_labels(
    logits: Tensor,
    observed: Tensor,
    pseudo: Tensor,
    *,
    alpha: float,
    beta: float,
    assume_negative: bool = False,
    eps: float = 0.0,
) -> Tensor:
    """Entropy maximization, with soft pseudo-labels on some of the unknown entries.

    An entry with pseudo-label s costs beta (-s log p - (1 - s) log(1 - p)), whatever p is later.

    Zhou et al. 2022 (EM), Eq. 7 and 8. Eq. 7 prints the term without its minus, which Eq. 8 has.

    Args:
        pseudo: [N, K] soft labels 0..1, and -1 where an entry has none; observed entries ignore it.
        assume_negative: the remaining unknown entries cost -log(1 - p) in place of their entropy.
        eps: added to probabilities inside every logarithm; the published code has 1e-5.
    """
    positive, negative = guarded_terms(logits, eps)
    entropy = _entropy(logits, positive, negative)
    remaining = negative if assume_negative else -alpha * entropy
    labeled = beta * (pseudo * positive + (1 - pseudo) * negative)
    return by_label(observed, positive, negative, torch.where(pseudo >= 0, labeled, remaining))


def _entropy(logits: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """H(p) from the two logarithms, 1 - p without cancellation."""
    logits = single(logits)
    return torch.sigmoid(logits) * positive + torch.sigmoid(-logits) * negative
