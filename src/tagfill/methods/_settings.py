"""Hyper-parameters with their descriptions and ranges, and reductions other than the mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from inspect import signature
from typing import Any, Literal, TypeVar

from torch import Tensor

from tagfill.errors import TagfillError

T = TypeVar("T")
Reduction = Literal["mean", "sum"]
Elementwise = Callable[[Tensor, Tensor], Tensor]


def setting(default: Any, doc: str, low: float | None = None, high: float | None = None) -> Any:
    """A field of a ``Config``.

    Args:
        doc: what it is, without the full stop.
        low, high: least and largest number it may be.
    """
    return field(default=default, metadata={"doc": f"{doc}.", "low": low, "high": high})


@dataclass(frozen=True)
class Settings:
    """Base of a ``Config``: numbers are within the range of their ``setting``."""

    def __post_init__(self) -> None:
        for one in fields(self):
            value, low = getattr(self, one.name), one.metadata["low"]
            if low is not None and isinstance(value, int | float):
                require_range(one.name, value, low, one.metadata["high"])

    def given_to(self, loss: Callable[..., T]) -> Callable[..., T]:
        """A loss with those of its arguments that are settings, by their names."""
        taken = signature(loss).parameters
        return partial(loss, **{name: value for name, value in vars(self).items() if name in taken})


@dataclass(frozen=True)
class CountSettings(Settings):
    """Settings of a method that needs k."""

    k: float | Literal["auto"] = setting(
        "auto",
        'mean number of positive tags per image; "auto" estimates it from the observed labels',
    )


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
