"""The two terms of every loss here, from logits and stable for any of them.

With p = sigmoid(logit): -log p for a positive entry, -log(1 - p) for a negative one.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def single(values: Tensor) -> Tensor:
    """Half precision as float32, like cross-entropy under autocast; all else as it is.

    A sum over a batch overflows float16 (from 65,504 on) and loses most digits in bfloat16.
    """
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def positive_term(logits: Tensor) -> Tensor:
    """-log p, elementwise."""
    return F.softplus(-single(logits))


def negative_term(logits: Tensor) -> Tensor:
    """-log(1 - p), elementwise."""
    return F.softplus(single(logits))


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """-t log p - (1 - t) log(1 - p) for soft targets t in 0..1, elementwise."""
    return target * positive_term(logits) + (1 - target) * negative_term(logits)


def by_label(observed: Tensor, positive: Tensor, negative: Tensor, unknown: Tensor) -> Tensor:
    """Choose each entry's term by its observed label (1, 0, -1)."""
    return torch.where(observed == 1, positive, torch.where(observed == 0, negative, unknown))


def guarded_terms(logits: Tensor, eps: float = 0.0) -> tuple[Tensor, Tensor]:
    """-log(p + eps) and -log(1 - p + eps), elementwise, as in published code.

    The floor bounds both by -log(eps) and lets the gradient of very wrong entries vanish.
    """
    if eps == 0:
        return positive_term(logits), negative_term(logits)
    logits = single(logits)
    floor = torch.full_like(logits, math.log(eps))
    return (
        -torch.logaddexp(F.logsigmoid(logits), floor),
        -torch.logaddexp(F.logsigmoid(-logits), floor),
    )
