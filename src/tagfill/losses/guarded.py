"""Logarithms with a floor, as in published code."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from tagfill.losses.terms import negative_term, positive_term


def guarded_terms(logits: Tensor, eps: float = 0.0) -> tuple[Tensor, Tensor]:
    """-log(p + eps) and -log(1 - p + eps), elementwise.

    The floor bounds both by -log(eps) and lets the gradient of hopeless entries vanish.
    """
    if eps == 0:
        return positive_term(logits), negative_term(logits)
    floor = torch.full_like(logits, math.log(eps))
    return (
        -torch.logaddexp(F.logsigmoid(logits), floor),
        -torch.logaddexp(F.logsigmoid(-logits), floor),
    )
