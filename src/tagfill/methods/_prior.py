"""The class prior a method works with."""

from __future__ import annotations

import torch
from torch import Tensor

from tagfill.errors import TagfillError
from tagfill.methods.base import Setup

Prior = float | str | tuple[float, ...]
"""One share for all classes, one per class (as text separated by commas), or "auto"."""


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
