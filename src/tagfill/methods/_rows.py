"""Adam over a large table of rows that touches only the rows of a batch.

Adam over the whole table updates every row at every step, also those with zero gradient, by their
remaining momentum. Here a row is updated only when it is read, by all steps since its last update.
The result is that of Adam over the whole table (up to rounding and Adam's ``eps``), while the time
of a step does not depend on the number of rows.
"""

from __future__ import annotations

import math
import mmap
import tempfile
from pathlib import Path

import torch
from torch import Tensor

from tagfill.methods._state import Stateful

BETA_1, BETA_2, EPS = 0.9, 0.999, 1e-8
HORIZON = 200
"""Steps after which momentum is negligible: (BETA_1 / sqrt(BETA_2))^200 < 1e-9."""
CHUNK = 4096
"""Rows per chunk where all rows are processed."""

RESIDENT = 512_000_000
"""Bytes of a mapped table that stay in memory; of more, the system reads them from disk again."""

VALUE, MOMENTUM, SQUARE = 0, 1, 2


class Rows(Stateful):
    """A table [N, D] with Adam's two moments, in memory or in a mapped file.

    Args:
        shape: N, D.
        learning_rate: of Adam.
        device: where rows are used; a mapped table is on disk.
        mapped: store the table in a file instead of memory.
        directory: of that temporary file; None for the system's.
    """

    kept = ("table", "last", "steps")

    def __init__(
        self,
        shape: tuple[int, int],
        learning_rate: float,
        *,
        device: torch.device,
        mapped: bool = False,
        directory: str | None = None,
    ) -> None:
        self.device, self.learning_rate = device, learning_rate
        count, width = shape
        self._pages: mmap.mmap | None = None
        self._touched = 0
        if mapped and count * width:
            self._folder = _temporary_folder(directory)
            file = Path(self._folder.name) / "rows.f32"
            self._pages = _mapped(file, count * 3 * width * torch.float32.itemsize)
            self.table = torch.frombuffer(self._pages, dtype=torch.float32).view(count, 3, width)
        else:
            self.table = torch.zeros(count, 3, width, device=device)
        self.last = torch.zeros(count, dtype=torch.int64, device=self.table.device)
        self.steps = 0

    def __len__(self) -> int:
        return len(self.table)

    def fill(self, rows: Tensor, start: int) -> None:
        """Set the values of the rows from ``start`` on."""
        self._release(len(rows))
        self.table[start : start + len(rows), VALUE] = rows.to(self.table)

    def read(self, index: Tensor) -> Tensor:
        """[B, D] values as they are now."""
        value, momentum, square, last = self._gather(index.to(self.table.device))
        return (value - self._drift(momentum, square, last)).to(self.device)

    def update(self, index: Tensor, gradient: Tensor) -> None:
        """One step of Adam with this gradient at these rows and zero at all others."""
        rows, inverse = torch.unique(index.to(self.table.device), return_inverse=True)
        summed = self.table.new_zeros(len(rows), gradient.shape[1])
        summed.index_add_(0, inverse, gradient.to(summed))
        value, momentum, square, last = self._gather(rows)
        value = value - self._drift(momentum, square, last)
        missed = (self.steps - last)[:, None].double()
        momentum = (momentum * BETA_1**missed).to(summed).lerp(summed, 1 - BETA_1)
        square = (square * BETA_2**missed).to(summed).lerp(summed**2, 1 - BETA_2)
        self.steps += 1
        unbias = math.sqrt(1 - BETA_2**self.steps)
        pace = self.learning_rate * unbias / (1 - BETA_1**self.steps)
        value = value - pace * momentum / (square.sqrt() + EPS * unbias)
        self.table[rows] = torch.stack([value, momentum, square], 1)
        self.last[rows] = self.steps

    def inherit(self, previous: Rows) -> None:
        """Start from the current values of another table, without its momentum."""
        for index in torch.arange(len(previous)).split(CHUNK):
            self.fill(previous.read(index), int(index[0]))

    def _release(self, rows: int) -> None:
        """Leave the pages of a mapped table to the system when many rows have been used."""
        self._touched += rows * self.table[0].nbytes if rows else 0
        if self._pages is not None and self._touched > RESIDENT and hasattr(mmap, "MADV_DONTNEED"):
            self._pages.madvise(mmap.MADV_DONTNEED)
            self._touched = 0

    def _gather(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        self._release(len(rows))
        table = self.table[rows]
        return table[:, VALUE], table[:, MOMENTUM], table[:, SQUARE], self.last[rows]

    def _drift(self, momentum: Tensor, square: Tensor, last: Tensor) -> Tensor:
        """How far momentum alone moves each row between step ``last`` and now."""
        missed = self.steps - last
        longest = min(max(int(missed.max()), 1), HORIZON)
        ahead = torch.arange(1, longest + 1, device=last.device)
        time = (last[:, None] + ahead).double()
        spent = (BETA_1 / math.sqrt(BETA_2)) ** ahead.double()
        unbias = (1 - BETA_2**time).sqrt()
        share = spent * unbias / (1 - BETA_1**time) * (ahead <= missed[:, None])
        distance = self.learning_rate * share.sum(1, keepdim=True).to(momentum)
        return distance * momentum / (square.sqrt() + EPS * unbias[:, :1].to(momentum))


def _temporary_folder(parent: str | None) -> tempfile.TemporaryDirectory[str]:
    if parent is not None:
        Path(parent).mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix="tagfill-rows-", dir=parent)


def _mapped(file: Path, size: int) -> mmap.mmap:
    """A new file of zeros as memory; what is written stays in the file when pages are released."""
    with file.open("w+b") as stream:
        stream.truncate(size)
        pages = mmap.mmap(stream.fileno(), size)
    if hasattr(mmap, "MADV_RANDOM"):
        pages.madvise(mmap.MADV_RANDOM)  # neighbors of a row are not read from disk with it
    return pages
