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

from tagfill.arrays import Matrix
from tagfill.linear.basis import Basis, Transform, rooted
from tagfill.linear.lbfgs import Memory, minimized
from tagfill.linear.objective import Objective
from tagfill.linear.scaled import Scaled, Solution
from tagfill.linear.stream import as_tensor, read_rows

STEPS = (3, 25)
"""Fewest and most."""
WORK = 200_000_000
"""Entries times steps beyond which fewer steps are taken: minutes on one core."""
TOLERANCE = 1e-5
"""Expected decrease per image at which to stop."""
_BLOCK = 2_000_000
"""Numbers handled at a time, about what the processor's own memory holds."""
_KEPT = 300_000_000
"""Numbers that are transformed once and kept in half precision; more are transformed every time."""
_COPIED = 30_000_000
"""Numbers of a problem held in single precision; of more, blocks are made at every step."""
_SHORT = 2
"""How many times as many features as axes there must be for regions to be kept along the axes."""


class Features(Protocol):
    """Features of N images, [N, D] or [N, D, H, W] by regions: an array, or rows on disk."""

    @property
    def shape(self) -> tuple[int, ...]:
        """[N, D] or [N, D, H, W]."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any) -> Matrix: ...


def has_regions(features: Features) -> bool:
    """Whether features are given by regions."""
    return len(features.shape) == 4


def whole(features: Features) -> Matrix:
    """[N, D] features of the images as a whole: the means of their regions; vectors as they are."""
    if not has_regions(features):
        return cast(Matrix, features)
    means = np.empty(features.shape[:2], np.float32)
    for rows, block in whole_blocks(features):
        means[rows] = block.numpy()
    return means


def whole_blocks(features: Features) -> Iterator[tuple[slice, Tensor]]:
    """The same some rows at a time, in single precision."""
    regions = has_regions(features)
    for rows in _blocks(len(features), int(np.prod(features.shape[1:]))):
        block = read_rows(cast(Matrix, features), rows, np.float32)
        yield rows, block.mean(dim=(2, 3)) if regions else block


class RegionFeatures:
    """Transformed features of the R regions of N images.

    Args:
        features: [N, D, H, W].
        transform: scales of standardized features are left to the weights.
    """

    def __init__(self, features: Features, transform: Transform) -> None:
        self.features, self.transform = features, transform
        self.count, self.width = features.shape[2] * features.shape[3], features.shape[1]

    def __len__(self) -> int:
        return len(self.features)

    def blocks(self, images: int) -> Iterator[slice]:
        """Some images at a time."""
        return _blocks(images, self.count * self.width)

    def cells(self, rows: slice | Tensor) -> Tensor:
        """[n, R, D] all regions of some images."""
        index = rows.numpy() if isinstance(rows, Tensor) else rows
        cells = as_tensor(self.features[index], np.float32).flatten(2).mT
        if self.transform != "roots":
            return cells
        return rooted(cells.flatten(0, 1)).view(cells.shape)

    def logits(self, cells: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """[n, R, K] of weights [D, K] and biases [K]."""
        return torch.addmm(bias, cells.flatten(0, 1), weight).view(-1, self.count, len(bias))

    def best(self, weight: Tensor, bias: Tensor, rows: Tensor | None = None) -> Tensor:
        """[n, K] the highest logits of any region of all images, or of some of them."""
        index = torch.arange(len(self)) if rows is None else rows
        best = torch.empty(len(index), len(bias))
        for block in self.blocks(len(index)):
            best[block] = self.logits(self.cells(index[block]), weight, bias).amax(1)
        return best


class Regions(RegionFeatures):
    """Those of the images of a basis, transformed once unless they are very many.

    Few images have few axes, and weights along them see nothing else of a region: then its
    coordinates are kept, which are fewer numbers than its features.
    """

    def __init__(self, basis: Basis, features: Features) -> None:
        super().__init__(features, basis.transform)
        self._turn = (basis.scale[:, None] * basis.axes).float()
        self._center = basis.center.float()
        self._kept: Tensor | None = None
        few = np.prod(features.shape) <= _KEPT
        self._short = few and _SHORT * len(basis.sums) <= self.width
        if few:
            blocks = [self._made(rows) for rows in self.blocks(len(features))]
            self._kept = torch.cat(blocks)
            self.width = self._kept.shape[2]

    def cells(self, rows: slice | Tensor) -> Tensor:
        """[n, R, D] all regions of some images, or [n, R, r] along the axes."""
        return super().cells(rows) if self._kept is None else self._kept[rows].float()

    def copied(self, rows: Tensor) -> Tensor | None:
        """``cells`` of many images, unless they are too many to be held."""
        fit = self._kept is not None and len(rows) * self.count * self.width <= _COPIED
        return self.cells(rows) if fit else None

    def outward(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Weights and biases of ``cells``, of those along the axes."""
        if self._short:
            return weight, bias
        whole = self._turn @ weight
        return whole, bias - self._center @ whole

    def inward(self, slopes: Tensor, last: Tensor) -> Tensor:
        """Slopes along the axes, of slopes by the weights and biases that ``outward`` gives."""
        if self._short:
            return slopes
        return self._turn.T @ (slopes - torch.outer(self._center, last))

    def _made(self, rows: slice) -> Tensor:
        cells = super().cells(rows)
        if self._short:
            cells = (cells - self._center) @ self._turn
        return cells.half()


def scores(basis: Basis, solution: Solution, regions: Regions | None, rows: Tensor) -> Tensor:
    """[n, K] logits of some images, by the whole and, if there are any, by their regions."""
    logits = solution.scores(basis, rows)
    if regions is None:
        return logits
    head = regions.outward(solution.weight.float(), solution.bias.float())
    return (logits + regions.best(*head, rows)) / 2


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
        self.index = torch.arange(len(basis)) if rows is None else rows
        self.held = regions.copied(self.index)

    def _total(self, weight: Tensor, bias: Tensor) -> tuple[float, Tensor]:
        outer, (head, shifted) = self.basis.outward(weight), self.regions.outward(weight, bias)
        value, by_whole, by_regions = 0.0, torch.zeros_like(outer), torch.zeros_like(head.T)
        last = torch.zeros_like(bias)
        for rows in self.regions.blocks(self.images):
            cells = self.regions.cells(self.index[rows]) if self.held is None else self.held[rows]
            every, block = self.regions.logits(cells, head, shifted), self._block(rows)
            best, place = every.max(1, keepdim=True)
            logits = (torch.addmm(bias, block, outer) + best[:, 0]) / 2
            terms, gradient = self.objective(logits, rows)
            half = gradient / 2
            value += float(terms.sum(dtype=torch.float64))
            by_whole.addmm_(block.T, half)
            at_best = torch.zeros_like(every).scatter_(1, place, half[:, None])
            by_regions.addmm_(at_best.flatten(0, 1).T, cells.flatten(0, 1))
            last += half.sum(0)
        slopes = self.basis.inward(by_whole) + self.regions.inward(by_regions.T, last)
        return value, torch.cat([slopes, 2 * last[None]])


def _blocks(images: int, numbers: int) -> Iterator[slice]:
    """Images of so many numbers each, some at a time."""
    step = max(1, _BLOCK // max(1, numbers))
    return (slice(start, min(start + step, images)) for start in range(0, images, step))
