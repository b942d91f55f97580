"""Features of very many images: read, transformed and centered each time they are used.

A rotated copy along principal axes would need as much memory as the features and more time than the
solver; instead the weights are rotated. The axes only precondition the solver, so those of some
evenly spread images are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagfill.array_files import release_pages
from tagfill.arrays import Matrix

_TOGETHER = 2048
"""Rows that are gathered at a time."""


@dataclass(frozen=True, eq=False)
class Stream:
    """Rows of transformed, centered and scaled features in single precision.

    Args:
        features: [N, D].
        transform: of rows.
        center: [D] mean of the transformed features.
        scale: [D] what they are multiplied by; None where that is 1.
    """

    features: Matrix
    transform: Callable[[Tensor], Tensor]
    center: Tensor
    scale: Tensor | None

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, rows: slice | Tensor) -> Tensor:
        index = rows.numpy() if isinstance(rows, Tensor) else rows
        block = self.transform(read_rows(self.features, index, np.float32))
        block = block.sub_(self.center)
        return block if self.scale is None else block.mul_(self.scale)


def read_rows(
    features: Matrix, rows: slice | npt.NDArray[np.intp], kind: type[np.floating]
) -> Tensor:
    """Some rows as a tensor of their own; pages of a mapped file do not stay in memory."""
    if not isinstance(rows, slice):
        return as_tensor(gathered(features, rows), kind)
    block = as_tensor(features[rows], kind)
    release_pages(features)
    return block


def gathered(features: Matrix, rows: npt.NDArray[np.intp]) -> Matrix:
    """Rows from anywhere, some at a time: each touches pages of a mapped file around it."""
    parts = []
    for start in range(0, max(1, len(rows)), _TOGETHER):
        parts.append(features[rows[start : start + _TOGETHER]])
        release_pages(features)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def as_tensor(rows: Matrix, kind: type[np.floating]) -> Tensor:
    """Some rows as a tensor of their own."""
    if rows.dtype == np.float16:  # which torch converts many times faster than numpy
        whole = torch.from_numpy(np.array(rows))
        return whole.float() if kind is np.float32 else whole.double()
    return torch.from_numpy(np.array(rows, dtype=kind))
