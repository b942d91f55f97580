"""Heads that see an image as a whole and in regions: logits = (whole + max over regions) / 2.

Most things fill a part of the picture only. The head of the whole images is found first, with every
choice; from there the same objective is minimized for the logits above. The maximum has kinks, so
a better head is found, not the best one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, cast

import numpy as np
import torch
from torch import Tensor

from tagfill.linear.basis import Basis, Matrix, Transform, rooted
from tagfill.linear.lbfgs import Memory, minimized
from tagfill.linear.objective import Objective
from tagfill.linear.scaled import Scaled, Solution
from tagfill.linear.stream import as_tensor

STEPS = (3, 25)
"""Fewest and most."""
WORK = 200_000_000
"""Entries times steps beyond which fewer steps are taken: minutes on one core."""
TOLERANCE = 1e-5
"""Expected decrease per image at which to stop."""
_BLOCK = 1_000_000
"""Numbers handled at a time, about what the processor's own memory holds."""
_KEPT = 300_000_000
"""Numbers that are transformed once and kept in half precision; more are transformed every time."""


class Rows(Protocol):
    """Features of N images, [N, D] or [N, D, H, W] by regions: an array, or rows on disk."""

    @property
    def shape(self) -> tuple[int, ...]:
        """[N, D] or [N, D, H, W]."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any) -> Matrix: ...


def has_regions(features: Rows) -> bool:
    """Whether features are given by regions."""
    return len(features.shape) == 4


def whole(features: Rows) -> Matrix:
    """[N, D] features of the images as a whole: the means of their regions; vectors as they are."""
    if not has_regions(features):
        return cast(Matrix, features)
    means = np.empty(features.shape[:2], np.float32)
    for rows in _blocks(len(features), features.shape):
        means[rows] = as_tensor(features[rows], np.float32).mean(dim=(2, 3)).numpy()
    return means


class Regions:
    """Transformed features of the R regions of N images.

    Args:
        features: [N, D, H, W].
        transform: scales of standardized features are left to the weights.
    """

    def __init__(self, features: Rows, transform: Transform) -> None:
        self.features, self.transform = features, transform
        self.count = features.shape[2] * features.shape[3]
        self._kept: Tensor | None = None
        if np.prod(features.shape) <= _KEPT:
            kept = torch.empty(len(features), self.count, features.shape[1], dtype=torch.float16)
            for rows in self.blocks(len(features)):
                kept[rows] = self._transformed(rows)
            self._kept = kept

    def __len__(self) -> int:
        return len(self.features)

    def blocks(self, images: int) -> Iterator[slice]:
        """Some images at a time."""
        return _blocks(images, self.features.shape)

    def cells(self, rows: slice | Tensor) -> Tensor:
        """[n R, D] all regions of some images."""
        kept = self._transformed(rows) if self._kept is None else self._kept[rows].float()
        return kept.flatten(0, 1)

    def logits(self, cells: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """[n, R, K] of weights [D, K] and biases [K]."""
        return torch.addmm(bias, cells, weight).view(-1, self.count, weight.shape[1])

    def best(self, weight: Tensor, bias: Tensor, rows: Tensor | None = None) -> Tensor:
        """[n, K] the highest logits of any region of all images, or of some of them."""
        index = torch.arange(len(self)) if rows is None else rows
        best = torch.empty(len(index), weight.shape[1])
        for block in self.blocks(len(index)):
            best[block] = self.logits(self.cells(index[block]), weight, bias).amax(1)
        return best

    def _transformed(self, rows: slice | Tensor) -> Tensor:
        index = rows.numpy() if isinstance(rows, Tensor) else rows
        cells = as_tensor(self.features[index], np.float32).flatten(2).mT
        if self.transform != "roots":
            return cells
        return rooted(cells.flatten(0, 1)).view(cells.shape)


def scores(basis: Basis, solution: Solution, regions: Regions | None, rows: Tensor) -> Tensor:
    """[n, K] logits of some images, by the whole and, if there are any, by their regions."""
    logits = solution.scores(basis, rows)
    if regions is None:
        return logits
    weight, bias = (part.float() for part in basis.head(solution.weight, solution.bias))
    return (logits + regions.best(weight.T, bias, rows)) / 2


def refined(
    basis: Basis,
    regions: Regions,
    objective: Objective,
    strength: float,
    start: Solution,
    rows: Tensor | None = None,
) -> Solution:
    """The head of whole images, improved for the logits (whole + max over regions) / 2.

    Args:
        basis: of the whole images.
        regions: of the same images.
        objective: of the images of the basis, or of ``rows`` of them.
        strength: of the penalty on weights.
        start: the head of the whole images.
        rows: which images to learn from.
    """
    problem = _WithRegions(basis, regions, objective, strength, rows)
    memory, entries = Memory(problem.history), problem.images * objective.classes
    steps = int(np.clip(WORK // max(entries, 1), *STEPS))
    return problem.solution(*minimized(problem, problem.inner(start), memory, TOLERANCE, steps))


class _WithRegions(Scaled):
    """The same objective and penalty, of logits (whole + max over regions) / 2."""

    def __init__(
        self,
        basis: Basis,
        regions: Regions,
        objective: Objective,
        strength: float,
        rows: Tensor | None = None,
    ) -> None:
        super().__init__(basis, objective, strength, rows)
        self.regions = regions
        self.turn = (basis.scale[:, None] * basis.axes).float()
        self.center = basis.center.float()

    def _total(self, weight: Tensor, bias: Tensor) -> tuple[float, Tensor]:
        outer, head = self.basis.outward(weight), self.turn @ weight
        shifted = bias - self.center @ head
        value, by_whole = 0.0, torch.zeros_like(outer)
        by_regions, last = torch.zeros_like(head), torch.zeros_like(bias)
        for rows in self.regions.blocks(self.images):
            cells = self.regions.cells(rows if self.rows is None else self.rows[rows])
            every, block = self.regions.logits(cells, head, shifted), self._block(rows)
            best, place = every.max(1, keepdim=True)
            logits = (torch.addmm(bias, block, outer) + best[:, 0]) / 2
            terms, gradient = self.objective(logits, rows)
            half = gradient / 2
            value += float(terms.sum(dtype=torch.float64))
            by_whole.addmm_(block.T, half)
            by_regions.addmm_(
                cells.T, torch.zeros_like(every).scatter_(1, place, half[:, None]).flatten(0, 1)
            )
            last += half.sum(0)
        by_regions -= torch.outer(self.center, last)
        slopes = self.basis.inward(by_whole) + self.turn.T @ by_regions
        return value, torch.cat([slopes, 2 * last[None]])


def _blocks(images: int, shape: tuple[int, ...]) -> Iterator[slice]:
    step = max(1, _BLOCK // int(np.prod(shape[1:])))
    return (slice(start, min(start + step, images)) for start in range(0, images, step))
