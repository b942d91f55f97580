"""Risks of learning from positive and unlabeled entries, one per class.

P are the observed positives of a class, U its unlabeled entries: known negatives too, and the
positives with ``positives_in_unlabeled``. E are means over the batch; a class without positives in
it has only its term over U. ``prior`` is [K] pi, the share of positives of each class; the
``surrogate`` l is "logistic" for -log p and -log(1 - p) or "sigmoid" for 1 - p and p.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from tagfill.losses.terms import negative_term, positive_term, single

Surrogate = Literal["logistic", "sigmoid"]

STILL = 1e-4
"""Logits that vary less than this have no sharpness to measure."""


def unbiased_risk(
    logits: Tensor,
    observed: Tensor,
    prior: Tensor,
    *,
    surrogate: Surrogate = "logistic",
    positives_in_unlabeled: bool = True,
) -> Tensor:
    """pi E_P[l+] - pi E_P[l-] + E_U[l-], for every class; it can be negative.

    Du Plessis et al. 2015 (uPU); PU-MLC (arXiv 2306.16016), Eq. 5.
    """
    gain, excess = _pu_parts(logits, observed, prior, surrogate, positives_in_unlabeled)
    return gain + excess


def non_negative_risk(
    logits: Tensor,
    observed: Tensor,
    prior: Tensor,
    *,
    beta: float = 0.0,
    gamma: float = 1.0,
    surrogate: Surrogate = "logistic",
    positives_in_unlabeled: bool = True,
) -> Tensor:
    """pi E_P[l+] + max(-beta, r) with r = E_U[l-] - pi E_P[l-], for every class.

    Kiryo et al. 2017 (nnPU), Eq. 6, with the gradient of their Algorithm 1: where r falls below
    -beta, that of -gamma r alone.

    Args:
        beta: how far r may fall below zero.
        gamma: how strongly to step back in that case; 0 for not at all.
    """
    gain, excess = _pu_parts(logits, observed, prior, surrogate, positives_in_unlabeled)
    risk = gain + excess
    back = -gamma * excess
    clipped = back + (gain - beta - back).detach()
    return torch.where(excess >= -beta, risk, clipped)


def variational_risk(
    logits: Tensor,
    observed: Tensor,
    *,
    temperature: Tensor | float = 1.0,
    gamma: float = 0.0,
    tempered_factor: bool = False,
    positives_in_unlabeled: bool = True,
    eps: float = 0.0,
) -> Tensor:
    """p_c^gamma log(E_U[sigma(s / tau)]) - E_P[log sigma(s / tau)], for every class.

    Chen et al. 2020 (vPU); PU-MLC (arXiv 2306.16016), Eq. 7, 9 and 11, of raw scores s. The
    re-balance factor p_c = E_U[sigma(s)] carries no gradient. A class without unlabeled entries in
    the batch has only its second term.

    Args:
        temperature: tau, a number or [K].
        gamma: exponent of the re-balance factor; 0 switches it off.
        tempered_factor: p_c = E_U[sigma(s / tau)], as the published code has it.
        eps: added to E_U inside the logarithm.
    """
    unlabeled = _unlabeled(observed, positives_in_unlabeled)
    logits = single(logits)
    sharp = logits / temperature
    log_mean = _log_mean_sigmoid(sharp, unlabeled)
    factor = (log_mean if tempered_factor else _log_mean_sigmoid(logits, unlabeled)) * gamma
    if eps:
        log_mean = torch.logaddexp(log_mean, torch.full_like(log_mean, eps).log())
    first = factor.detach().exp() * log_mean * unlabeled.any(dim=0)
    return first + _class_mean(positive_term(sharp), observed == 1)


def adaptive_temperature(logits: Tensor, alpha: float) -> Tensor:
    """min(alpha Std(s_c), 1) for every class, without gradient.

    PU-MLC (arXiv 2306.16016), Eq. 10. Where logits do not vary, as in a batch of one image, there
    is no sharpness to measure and the temperature is 1.

    Args:
        alpha: of the standard deviation (of the population).

    Returns:
        [K] temperatures.
    """
    spread = single(logits.detach()).std(dim=0, correction=0)
    return torch.where(spread > STILL, (alpha * spread).clamp(max=1.0), torch.ones_like(spread))


def mixup_consistency(
    mixed: Tensor,
    logits: Tensor,
    observed: Tensor,
    first: Tensor,
    second: Tensor,
    weight: float,
    *,
    detach: bool = False,
    eps: float = 0.0,
) -> Tensor:
    """(log t - log p)^2 with p of the mixed image and t the mixture of its parents' targets.

    t = w t_1 + (1 - w) t_2; a target is 1 for an observed positive and sigma(s) otherwise. The
    regularizer of Chen et al. 2020 (vPU), as PU-MLC has it in its Eq. 8.

    Args:
        mixed: [M, K] raw scores of the mixed images.
        logits: [N, K] raw scores of the batch.
        first: [M] rows of the first parents.
        second: [M] rows of the second parents.
        weight: w, from 0 to 1.
        detach: no gradient flows through the targets.
        eps: added inside the logarithms.

    Returns:
        [M, K] terms.
    """
    logits = single(logits)
    target = torch.where(observed == 1, torch.zeros_like(logits), F.logsigmoid(logits))
    target = target.detach() if detach else target
    shares = torch.tensor([weight, 1 - weight], dtype=logits.dtype, device=logits.device).log()
    blend = torch.logaddexp(shares[0] + target[first], shares[1] + target[second])
    predicted = F.logsigmoid(single(mixed))
    if eps:
        floor = torch.full_like(predicted, eps).log()
        blend, predicted = torch.logaddexp(blend, floor), torch.logaddexp(predicted, floor)
    return (blend - predicted) ** 2


def known_negative_risk(logits: Tensor, observed: Tensor) -> Tensor:
    """[K] mean of -log(1 - p) over the observed negatives of each class, 0 where there are none."""
    return _class_mean(negative_term(logits), observed == 0)


def _pu_parts(
    logits: Tensor, observed: Tensor, prior: Tensor, surrogate: Surrogate, included: bool
) -> tuple[Tensor, Tensor]:
    """pi E_P[l+], and E_U[l-] - pi E_P[l-]."""
    logits = single(logits)
    if surrogate == "logistic":
        positive, negative = positive_term(logits), negative_term(logits)
    else:
        positive, negative = torch.sigmoid(-logits), torch.sigmoid(logits)
    labeled, prior = observed == 1, prior.to(logits)
    gain = prior * _class_mean(positive, labeled)
    unlabeled = _class_mean(negative, _unlabeled(observed, included))
    return gain, unlabeled - prior * _class_mean(negative, labeled)


def _unlabeled(observed: Tensor, positives_included: bool) -> Tensor:
    return torch.ones_like(observed, dtype=torch.bool) if positives_included else observed != 1


def _class_mean(terms: Tensor, mask: Tensor) -> Tensor:
    """[K] mean over the masked entries of each class, 0 where there are none."""
    return (terms * mask).sum(dim=0) / mask.sum(dim=0).clamp(min=1)


def _log_mean_sigmoid(logits: Tensor, mask: Tensor) -> Tensor:
    """[K] log of the mean of sigma over the masked entries; a finite value if there are none."""
    nonempty = mask.any(dim=0)
    logs = F.logsigmoid(logits).masked_fill(~mask & nonempty, float("-inf"))
    return logs.logsumexp(dim=0) - mask.sum(dim=0).clamp(min=1).log()
