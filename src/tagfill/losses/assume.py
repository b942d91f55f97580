"""Losses of known entries, with an assumption about those nobody labeled.

Equation numbers are those of Cole et al. 2021, "Multi-Label Learning from Single Positive Labels"
(MLSPL). Its losses average over the classes; here they come unreduced.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tagfill.losses.terms import by_label, cross_entropy, negative_term, positive_term, single

DURAND = (-4.45, 5.45, 1.0)
"""alpha, beta, gamma with which a tenth of the labels weighs 5 and all of them 1."""


def ignore_unknown(logits: Tensor, observed: Tensor) -> Tensor:
    """Cross-entropy on known entries, nothing on unknown ones.

    -[z=1] log p - [z=0] log(1 - p)

    Eq. 6 (IU), and Eq. 5 (BCE) where nothing is unknown.
    """
    return by_label(
        observed, positive_term(logits), negative_term(logits), torch.zeros_like(logits)
    )


def ignore_unobserved_negatives(logits: Tensor, observed: Tensor, truth: Tensor) -> Tensor:
    """Observed positives and all true negatives; unobserved positives count nothing.

    -[z=1] log p - [y=0] log(1 - p)

    Eq. 7 (IUN).

    Args:
        observed: [N, K] labels z.
        truth: [N, K] full labels y.
    """
    negative = (observed == 0) | ((truth == 0) & (observed != 1))
    return ignore_unknown(logits, torch.where(negative, 0, torch.where(observed == 1, 1, -1)))


def assume_negative(logits: Tensor, observed: Tensor) -> Tensor:
    """Cross-entropy with every unknown entry counted as negative.

    -[z=1] log p - [z!=1] log(1 - p)

    Eq. 8 (AN).

    >>> assume_negative(torch.zeros(1, 2), torch.tensor([[1, -1]]))
    tensor([[0.6931, 0.6931]])
    """
    return positive_term(torch.where(observed == 1, logits, -logits))


def weak_negative(logits: Tensor, observed: Tensor, *, gamma: float | None = None) -> Tensor:
    """Assume negative, with less weight on what is only assumed.

    -[z=1] log p - [z=0] log(1 - p) - gamma [z unknown] log(1 - p)

    Sec. 5.1 (WAN), where no negative is known.

    Args:
        gamma: weight of an assumed negative; None for 1 / (K - 1), with which they all together
            weigh as much as a single positive.
    """
    weight = 1 / max(logits.shape[-1] - 1, 1) if gamma is None else gamma
    negative = negative_term(logits)
    return by_label(observed, positive_term(logits), negative, weight * negative)


def sampled_negative(logits: Tensor, observed: Tensor, chosen: Tensor) -> Tensor:
    """Cross-entropy on known entries, and on chosen unknown ones as negatives.

    -[z=1] log p - ([z=0] + eta) log(1 - p), eta = 1 for a chosen entry

    Sec. 5.1, "Connection to pseudo-negative sampling".

    Args:
        chosen: [N, K] bool, such as ``sample_unknown`` draws.
    """
    return ignore_unknown(logits, torch.where(chosen & (observed < 0), 0, observed))


def sample_unknown(observed: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """One unknown entry of each image, uniformly; none if nothing is unknown.

    Returns:
        [N, K] bool with at most one True a row.
    """
    unknown = observed < 0
    device = observed.device if generator is None else generator.device
    lots = torch.rand(observed.shape, generator=generator, device=device).to(observed.device)
    winner = torch.where(unknown, lots, -1.0).argmax(1, keepdim=True)
    return torch.zeros_like(unknown).scatter_(1, winner, True) & unknown


def assume_negative_smoothed(
    logits: Tensor, observed: Tensor, *, eps_p: float = 0.1, eps_n: float = 0.1
) -> Tensor:
    """Assume negative with smoothed targets.

    -t log p - (1 - t) log(1 - p), t = 1 - eps_p / 2 where z=1, else eps_n / 2

    Eq. 9 (AN-LS) with equal eps; supplement A (asymmetric AN-LS) otherwise.

    Args:
        eps_p: smoothing of positives.
        eps_n: smoothing of known and assumed negatives.
    """
    logits = single(logits)
    positive = (observed == 1).to(logits.dtype)
    return cross_entropy(logits, eps_n / 2 + (1 - eps_p / 2 - eps_n / 2) * positive)


def ignore_unknown_smoothed(logits: Tensor, observed: Tensor, *, eps: float = 0.1) -> Tensor:
    """Cross-entropy with smoothed targets on known entries, nothing on unknown ones.

    Sec. 6, Table 1 (BCE-LS), where nothing is unknown.

    Args:
        eps: smoothing; the targets are 1 - eps / 2 and eps / 2.
    """
    terms = assume_negative_smoothed(logits, observed, eps_p=eps, eps_n=eps)
    return torch.where(observed < 0, 0.0, terms)


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


def pairwise_ranking(logits: Tensor, observed: Tensor) -> Tensor:
    """Every positive should beat every other entry of its image by a margin of 1 in probability.

    for each positive i: sum over j with z_j != 1 of max(0, 1 - p_i + p_j)

    Cole et al. 2021 (MLSPL), supplement A (PR); "0" there is an unknown label counted as negative.
    Probabilities differ by at most 1, so the hinge never cuts, and the sum over j is
    n (1 - p_i) + sum of p_j with n the number of such j: no pair has to be formed.

    Returns:
        [N, K]: at each positive the sum over its pairs, elsewhere 0.

    >>> pairwise_ranking(torch.zeros(1, 3), torch.tensor([[1, -1, 0]]))
    tensor([[2., 0., 0.]])
    """
    logits = single(logits)
    positive = observed == 1
    others = (~positive).sum(1, keepdim=True)
    beaten_by = (torch.sigmoid(logits) * ~positive).sum(1, keepdim=True)
    return positive * (others * torch.sigmoid(-logits) + beaten_by)
