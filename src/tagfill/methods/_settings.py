"""Hyper-parameters with descriptions and ranges, class priors, reductions other than the mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import torch
from torch import Tensor

from tagfill.errors import TagfillError

if TYPE_CHECKING:
    from tagfill.methods.base import Setup

T = TypeVar("T")
Reduction = Literal["mean", "sum"]
Elementwise = Callable[[Tensor, Tensor], Tensor]
Prior = float | str | tuple[float, ...]
"""One share for all classes, one per class (as text separated by commas), or "auto"."""


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


def resolve_prior(prior: Prior, setup: Setup, method: str) -> Tensor:
    """[K] class prior: the configured one, or for "auto" the one the loop estimated."""
    if prior == "auto":
        if setup.class_prior is None:
            raise TagfillError(
                f"{method} needs the share of positives of every class",
                remedy="set it with --method.prior, as one number or one per class",
            )
        shares = setup.class_prior.to(setup.device, torch.float32)
    else:
        shares = torch.tensor(_numbers(prior, method), device=setup.device)
    if len(shares) not in (1, setup.classes):
        raise TagfillError(
            f"{method}: {len(shares)} class priors do not fit {setup.classes} classes",
            remedy="give one number or one per class",
        )
    if not bool(((shares >= 0) & (shares <= 1)).all()):
        raise TagfillError(
            f"{method}: a class prior is out of range", remedy="use a share from 0 to 1"
        )
    return shares.expand(setup.classes)


def _numbers(prior: Prior, method: str) -> list[float]:
    parts = prior.split(",") if isinstance(prior, str) else prior
    try:
        return [float(parts)] if isinstance(parts, float | int) else [float(x) for x in parts]
    except ValueError as error:
        raise TagfillError(
            f"{method}: prior cannot be {prior!r}",
            remedy='use "auto", one number, or one number per class separated by commas',
        ) from error
