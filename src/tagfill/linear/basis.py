"""Features as the solver sees them: transformed, centered, and rotated to their principal axes.

In these coordinates the Gram matrix is diagonal, so that a diagonal scaling makes all directions of
the problem about equally curved; L-BFGS then needs a dozen steps where it needed a hundred. Nothing
is lost: directions that are left out have no variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from tagfill.errors import features_not_finite

Matrix = npt.NDArray[np.floating]
"""[N, D] features: an array, or a mapped file; half precision will do."""
Transform = Literal["plain", "roots", "standard"]
"""Features as they are; their signed square roots, scaled to one length an image; or divided by the
spread of each: the standard deviation of a normal one with the same fourth moment, so that one
that is hardly ever not 0 does not become a very long one where it is not."""
TRANSFORMS: tuple[Transform, ...] = ("roots", "plain", "standard")

_ROWS = 8192
"""Rows handled at a time."""
_LARGE = 100_000_000
"""Numbers from which on products are taken in single and kept in half precision."""
_HALF = 60_000.0
"""Less than the largest number in half precision."""
_TINY = 1e-6
"""The addend of the linear head's own root."""
_FLAT = 1e-9
"""Directions with less than this share of the largest variance are left out."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Features of N images along their principal axes.

    Args:
        rotated: [N, r] coordinates; of very many images in half precision.
        sums: [r] sums of their squares.
        axes: [D, r] the axes, in transformed and centered features.
        center: [D] mean of the transformed features.
        scale: [D] what the features were multiplied by.
        transform: of the features.
        typical: mean over all D features of the sum of squares; strengths are relative to it.
    """

    rotated: Tensor
    sums: Tensor
    axes: Tensor
    center: Tensor
    scale: Tensor
    transform: Transform
    typical: float

    @classmethod
    def of(cls, features: Matrix, transform: Transform = "plain") -> Basis:
        """Two passes over the features; memory for the rotated ones and a Gram matrix."""
        gram, center, scale = _moments(features, transform)
        if not bool(gram.isfinite().all()):
            raise features_not_finite()
        count, width = features.shape
        if width <= count:
            sums, axes = torch.linalg.eigh(gram)
        else:
            whole = torch.cat([(rows - center) * scale for rows in blocks(features, transform)])
            sums, left = torch.linalg.eigh(whole @ whole.T)
            axes = whole.T @ left / sums.clamp_min(_FLAT).sqrt()
        keep = sums > max(_FLAT, _FLAT * float(sums[-1]))
        sums, axes = sums[keep].flip(0), axes[:, keep].flip(1)
        rotated = _rotated(features, transform, center, scale, axes)
        return cls(rotated, sums, axes, center, scale, transform, float(sums.sum()) / width)

    def head(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """[K, D] weights and [K] biases on transformed features, of [r, K] along the axes."""
        whole = (self.scale[:, None] * self.axes) @ weight.double()
        return whole.T, bias.double() - self.center @ whole

    def coordinates(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """What ``head`` was made of."""
        inner = self.axes.T @ (weight.double().T / self.scale[:, None])
        return inner, bias.double() + self.center @ weight.double().T


def blocks(features: Matrix, transform: Transform) -> Iterator[Tensor]:
    """Transformed features, some rows at a time; scaling is left to others.

    In double precision, those of a large matrix in single.
    """
    kind = np.float32 if is_large(features) else np.float64
    for start in range(0, len(features), _ROWS):
        rows = torch.from_numpy(np.asarray(features[start : start + _ROWS], dtype=kind))
        yield rooted(rows) if transform == "roots" else rows


def _rotated(
    features: Matrix, transform: Transform, center: Tensor, scale: Tensor, axes: Tensor
) -> Tensor:
    """Coordinates; where half precision cannot hold those of a large matrix, in single."""
    large, kind = is_large(features), torch.float32
    center, scale, axes = (part.float() if large else part for part in (center, scale, axes))
    for kind in (torch.float16, torch.float32) if large else (torch.float32,):
        rotated = torch.empty(len(features), axes.shape[1], dtype=kind)
        start, fits = 0, True
        for rows in blocks(features, transform):
            turned = ((rows - center) * scale) @ axes
            fits = kind == torch.float32 or bool(turned.abs().max() < _HALF)
            if not fits:
                break
            rotated[start : start + len(rows)] = turned
            start += len(rows)
        if fits:
            return rotated
    raise AssertionError  # single precision is not checked


def is_large(features: Matrix) -> bool:
    """Whether memory and time matter more than the last digits."""
    return bool(features.shape[0] * features.shape[1] > _LARGE)


def rooted(features: Tensor) -> Tensor:
    """Signed square roots, rows of length sqrt(D): the linear head's power 0.5 and ``unit``."""
    roots = features.sign() * (features.abs() + _TINY).sqrt()
    return F.normalize(roots, dim=1) * math.sqrt(roots.shape[1])


def _moments(features: Matrix, transform: Transform) -> tuple[Tensor, Tensor, Tensor]:
    """Gram matrix of the centered and scaled features, center and scale, in one pass.

    Sums are taken about the first block's mean, so that little is lost by their subtraction.
    """
    count, width = features.shape
    wide = width > count
    about = next(blocks(features, transform)).mean(0)
    powers = torch.zeros(4, width).double()
    gram = torch.zeros(0 if wide else width, 0 if wide else width).double()
    for rows in blocks(features, transform):
        rows = rows - about
        for power in range(1, 5 if transform == "standard" else 2):
            powers[power - 1] += rows.pow(power).sum(0, dtype=torch.float64)
        if not wide:
            gram += rows.T @ rows
    shift = powers[0] / count
    scale = torch.ones(width).double()
    if transform == "standard":
        spread = _spread(*(powers / count))
        scale = torch.where(spread > _TINY * spread.max(), 1 / spread.clamp_min(1e-300), 0.0)
    if not wide:
        gram = (gram - count * torch.outer(shift, shift)) * torch.outer(scale, scale)
    return gram, about.double() + shift, scale


def _spread(first: Tensor, second: Tensor, third: Tensor, fourth: Tensor) -> Tensor:
    """Standard deviation of normal features with the same fourth moment, of raw moments."""
    variance = (second - first.square()).clamp_min(0)
    central = fourth - 4 * first * third + 6 * first.square() * second - 3 * first.pow(4)
    return (central.maximum(variance.square()) / 3).pow(0.25)
