"""Checks of hyper-parameters, and reductions other than the mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from torch import Tensor

from tagfill.errors import TagfillError

Reduction = Literal["mean", "sum"]
Elementwise = Callable[[Tensor, Tensor], Tensor]


def require_range(name: str, value: float, low: float, high: float | None = None) -> None:
    """Refuse a number below ``low`` or above ``high``."""
    if value < low or (high is not None and value > high):
        wanted = f"at least {low:g}" if high is None else f"from {low:g} to {high:g}"
        raise TagfillError(f"{name} = {value:g} is out of range", remedy=f"it must be {wanted}")


def reduced(terms: Elementwise, reduction: Reduction) -> Elementwise:
    """A loss whose mean over all entries is the requested reduction of ``terms``."""
    if reduction == "mean":
        return terms

    def scaled(logits: Tensor, observed: Tensor) -> Tensor:
        return terms(logits, observed) * logits.numel()

    return scaled
