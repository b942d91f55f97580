"""Features as the solver sees them: transformed, centered, and rotated to their principal axes.

In these coordinates the Gram matrix is diagonal, so that a diagonal scaling makes all directions of
the problem about equally curved; L-BFGS then needs a dozen steps where it needed a hundred. Nothing
is lost: directions that are left out have no variance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tagfill.arrays import Matrix
from tagfill.errors import features_not_finite
from tagfill.linear.stream import Stream, read_rows

__all__ = [
    "ENTRIES",
    "FEW_ROWS",
    "TRANSFORMS",
    "Basis",
    "Transform",
    "blocks",
    "is_large",
    "rooted",
]

Blocks = Callable[[], Iterator[Tensor]]
"""Starts over at the first rows."""
Transform = Literal["plain", "roots", "standard"]
"""Features as they are; their signed square roots, scaled to one length an image; or divided by the
spread of each: the standard deviation of a normal one with the same fourth moment, so that one
that is hardly ever not 0 does not become a very long one where it is not."""
TRANSFORMS: tuple[Transform, ...] = ("roots", "plain", "standard")

_ROWS = 8192
"""Rows handled at a time."""
FEW_ROWS = 1024
"""The same of a large matrix, as the processor's own memory holds."""
_STREAMED = 2048
"""Rows of very many images handled at a time, as the processor's own memory holds."""
ENTRIES = 500_000
"""Logits held at a time."""
_LARGE = 100_000_000
"""Numbers from which on memory and time matter more than the last digits."""
_SAMPLE = 10_000
"""Images whose axes are taken for those of very many."""
_TINY = 1e-6
"""The addend of the linear head's own root."""
_FLAT = 1e-9
"""Directions with less than this share of the largest variance are left out."""
_WIDE = 256
"""Features from which on single precision is enough for the axes."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Features of N images along their principal axes.

    Args:
        rotated: [N, r] coordinates; of very many images a stream of [N, D] features.
        sums: [r] sums of their squares.
        axes: [D, r] the axes, in transformed and centered features.
        center: [D] mean of the transformed features.
        scale: [D] what the features were multiplied by.
        transform: of the features.
        typical: mean over all D features of the sum of squares; strengths are relative to it.
    """

    rotated: Tensor | Stream
    sums: Tensor
    axes: Tensor
    center: Tensor
    scale: Tensor
    transform: Transform
    typical: float

    @classmethod
    def of(cls, features: Matrix, transform: Transform = "plain", *, single: bool = False) -> Basis:
        """Two passes over the features; memory for the rotated ones and a Gram matrix.

        With very many images one pass, and memory for a Gram matrix. ``single`` precision is for
        features that are a sample of very many.
        """
        if is_large(features) and 2 * features.shape[1] <= min(_SAMPLE, len(features)):
            return cls._streamed(features, transform)
        rows = partial(blocks, features, transform, single=single or features.shape[1] >= _WIDE)
        gram, center, scale = _moments(rows, features.shape, transform)
        if not bool(gram.isfinite().all()):
            raise features_not_finite()
        count, width = features.shape
        if width <= count:
            sums, axes = torch.linalg.eigh(gram.to(_product_type(gram)))
        else:
            whole = torch.cat([(some - center) * scale for some in rows()]).double()
            sums, left = torch.linalg.eigh(whole @ whole.T)
            axes = whole.T @ left / sums.clamp_min(_FLAT).sqrt()
        flat = _FLAT if width < _WIDE or count < width else _TINY
        sums, axes = sums.double(), axes.double()
        keep = sums > max(_FLAT, flat * float(sums[-1]))
        sums, axes = sums[keep].flip(0), axes[:, keep].flip(1)
        rotated = _rotated(rows, count, center, scale, axes)
        return cls(rotated, sums, axes, center, scale, transform, float(sums.sum()) / width)

    @classmethod
    def _streamed(cls, features: Matrix, transform: Transform) -> Basis:
        count = len(features)
        powers, about = _powers(partial(blocks, features, transform), transform)
        center, scale = _center_and_scale(powers / count, about, transform)
        squares = (powers[1] - powers[0].square() / count) * scale.square()
        single = scale.float() if transform == "standard" else None
        if not bool(powers.isfinite().all()):
            raise features_not_finite()
        change = _root if transform == "roots" else _leave
        stream = Stream(features, change, center.float(), single)
        sample = stream[
            torch.from_numpy(np.linspace(0, count - 1, min(_SAMPLE, count)).astype(int))
        ]
        sums, axes = torch.linalg.eigh((sample.T @ sample).double())
        sums = sums.clamp_min(_FLAT * float(sums[-1])) * (count / len(sample))
        return cls(
            stream, sums.flip(0), axes.flip(1), center, scale, transform, float(squares.mean())
        )

    def __len__(self) -> int:
        return len(self.rotated)

    @property
    def streams(self) -> bool:
        """Whether there are very many images."""
        return isinstance(self.rotated, Stream)

    def block(self, rows: slice | Tensor) -> Tensor:
        """Some rows as they are multiplied with weights that ``outward`` gives."""
        return self.rotated[rows].float()

    def rows_at_once(self, classes: int) -> int:
        """Rows that are handled at a time."""
        rows = max(1, ENTRIES // classes)
        return min(rows, _STREAMED) if self.streams else rows

    def outward(self, weight: Tensor) -> Tensor:
        """Weights of rows as ``block`` gives them, of weights along the axes."""
        return self.axes.float() @ weight if self.streams else weight

    def inward(self, slopes: Tensor) -> Tensor:
        """Slopes along the axes, of slopes by the weights that ``outward`` gives."""
        return self.axes.T.float() @ slopes if self.streams else slopes

    def head(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """[K, D] weights and [K] biases on transformed features, of [r, K] along the axes."""
        whole = (self.scale[:, None] * self.axes) @ weight.double()
        return whole.T, bias.double() - self.center @ whole

    def coordinates(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """What ``head`` was made of."""
        inner = self.axes.T @ (weight.double().T / self.scale[:, None])
        return inner, bias.double() + self.center @ weight.double().T


def blocks(
    features: Matrix, transform: Transform, *, single: bool = False, most: int = _ROWS
) -> Iterator[Tensor]:
    """Transformed features, at most so many rows at a time; scaling is left to others.

    In double precision, those of a large matrix in single.
    """
    small = not (single or is_large(features))
    kind, step = (np.float64, most) if small else (np.float32, FEW_ROWS)
    for start in range(0, len(features), step):
        rows = read_rows(features, slice(start, start + step), kind)
        yield rooted(rows) if transform == "roots" else rows


def _rotated(rows: Blocks, count: int, center: Tensor, scale: Tensor, axes: Tensor) -> Tensor:
    rotated = torch.empty(count, axes.shape[1])
    start = 0
    for some in rows():
        parts = (part.to(some.dtype) for part in (center, scale, axes))
        rotated[start : start + len(some)] = _turned(some, *parts)
        start += len(some)
    return rotated


def _turned(rows: Tensor, center: Tensor, scale: Tensor, axes: Tensor) -> Tensor:
    kind = _product_type(rows)
    return ((rows - center) * scale).to(kind) @ axes.to(kind)


def _product_type(rows: Tensor) -> torch.dtype:
    """Single precision for wide features; any orthonormal axes will do."""
    return torch.float32 if rows.shape[1] >= _WIDE else rows.dtype


def _leave(rows: Tensor) -> Tensor:
    return rows


def _root(rows: Tensor) -> Tensor:
    """``rooted``, in place."""
    for some in rows.split(_STREAMED):
        signs = some.sign()
        some.abs_().add_(_TINY).sqrt_().mul_(signs)
        lengths = torch.linalg.vector_norm(some, dim=1, keepdim=True).clamp_min(1e-12)
        some.mul_(math.sqrt(rows.shape[1]) / lengths)
    return rows


def is_large(features: Matrix) -> bool:
    """Whether memory and time matter more than the last digits."""
    return bool(features.shape[0] * features.shape[1] > _LARGE)


def rooted(features: Tensor) -> Tensor:
    """Signed square roots, rows of length sqrt(D): the linear head's power 0.5 and ``unit``."""
    roots = features.sign() * (features.abs() + _TINY).sqrt()
    return F.normalize(roots, dim=1) * math.sqrt(roots.shape[1])


def _moments(
    rows: Blocks, shape: tuple[int, ...], transform: Transform
) -> tuple[Tensor, Tensor, Tensor]:
    """Gram matrix of the centered and scaled features, center and scale, in one pass."""
    count, width = shape
    gram = torch.zeros(width, width).double() if width <= count else torch.zeros(0, 0).double()
    powers, about = _powers(rows, transform, gram)
    shift = powers[0] / count
    center, scale = _center_and_scale(powers / count, about, transform)
    if gram.numel():
        gram = (gram - count * torch.outer(shift, shift)) * torch.outer(scale, scale)
    return gram, center, scale


def _powers(
    rows: Blocks, transform: Transform, gram: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """[4, D] sums of powers about a point near the center, as far as they are needed, and [D] it.

    It is the first block's mean, so that little is lost by subtractions. A Gram matrix that is
    given and not empty is added to; without one the second powers are needed.
    """
    about = next(rows()).mean(0)
    powers = torch.zeros(4, len(about)).double()
    most = 4 if transform == "standard" else 2 if gram is None else 1
    for some in rows():
        apart = some - about
        for power in range(1, most + 1):
            powers[power - 1] += apart.pow(power).sum(0)
        if gram is not None and gram.numel():
            apart = apart.to(_product_type(apart))
            gram += apart.T @ apart
    return powers, about.double()


def _center_and_scale(powers: Tensor, about: Tensor, transform: Transform) -> tuple[Tensor, Tensor]:
    """Mean of the features and what they are multiplied by, of mean powers about a point."""
    scale = torch.ones_like(about)
    if transform == "standard":
        spread = _spread(*powers)
        scale = torch.where(spread > _TINY * spread.max(), 1 / spread.clamp_min(1e-300), 0.0)
    return about + powers[0], scale


def _spread(first: Tensor, second: Tensor, third: Tensor, fourth: Tensor) -> Tensor:
    """Standard deviation of normal features with the same fourth moment, of raw moments."""
    variance = (second - first.square()).clamp_min(0)
    central = fourth - 4 * first * third + 6 * first.square() * second - 3 * first.pow(4)
    return (central.maximum(variance.square()) / 3).pow(0.25)
