"""The two terms of every loss here, from logits and stable for any of them.

With p = sigmoid(logit): a positive entry costs -log p, a negative one -log(1 - p).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def positive_term(logits: Tensor) -> Tensor:
    """-log p, elementwise."""
    return F.softplus(-logits)


def negative_term(logits: Tensor) -> Tensor:
    """-log(1 - p), elementwise."""
    return F.softplus(logits)


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """-t log p - (1 - t) log(1 - p) for soft targets t in 0..1, elementwise."""
    return target * positive_term(logits) + (1 - target) * negative_term(logits)


def by_label(observed: Tensor, positive: Tensor, negative: Tensor, unknown: Tensor) -> Tensor:
    """Choose each entry's term by its observed label (1, 0, -1)."""
    return torch.where(observed == 1, positive, torch.where(observed == 0, negative, unknown))
