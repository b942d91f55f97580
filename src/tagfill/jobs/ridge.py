"""A linear head from features in parts: sums of products by block, added up, solved at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from pyarrow import parquet

from tagfill.errors import TagfillError
from tagfill.jobs.engines import EngineName, in_blocks, run_blocks
from tagfill.jobs.folder import parts
from tagfill.jobs.work import IMAGE, Do, matrix_of
from tagfill.labels import LabelTable
from tagfill.linear.ridge import Ridge, Sums

STRENGTH = 1e-2
"""Penalty relative to the features' mean sum of squares."""
_FIELDS = ("features", "targets", "squares", "products")


@dataclass(frozen=True)
class SumsWork:
    """Sums of products of some parts.

    Args:
        labels: [N, K] labels as bytes, with the images they are of.
        images: the ids; a part's image belongs to the id its path ends in.
    """

    labels: bytes
    images: tuple[str, ...]
    classes: int

    def about(self) -> dict[str, Any]:
        """Nothing: the result is not stored."""
        return {"work": "sums"}

    def open(self) -> Do:
        values = np.frombuffer(self.labels, np.int8).reshape(-1, self.classes)
        row_of = {image: row for row, image in enumerate(self.images)}

        def sums_of(files: Sequence[str]) -> pa.Table:
            sums = None
            for file in files:
                table = parquet.read_table(file)
                matrix, rows = matrix_of(table)
                names = table.column(IMAGE).take(rows).to_pylist()
                labels = np.array([_row(name, row_of) for name in names], np.intp)
                known = labels >= 0
                targets = values[labels[known]] == 1
                sums = sums or Sums(matrix.shape[1], self.classes)
                sums.add(torch.from_numpy(matrix[known]), torch.from_numpy(targets))
            assert sums is not None
            return _table(sums)

        return sums_of


def ridge_head(
    folder: Path,
    labels: LabelTable,
    *,
    strength: float = STRENGTH,
    engine: EngineName = "local",
    actors: int | None = None,
    together: int = 64,
) -> tuple[torch.Tensor, torch.Tensor]:
    """[K, D] weights and [K] biases of least squares on the features of a job, in one pass.

    Unknown labels count as negative. No process holds more than one part and the sums.

    Args:
        folder: written by ``tagfill features``.
        labels: of its images; images without labels are left out.
        strength: of the penalty, relative to the features' mean sum of squares.
        together: parts added up before they are sent.
    """
    files = [str(part.resolve()) for part in parts(folder)]
    values = np.ascontiguousarray(labels.values, np.int8)
    work = SumsWork(values.tobytes(), labels.images, values.shape[1])
    total: Sums | None = None
    for _, table in run_blocks(engine, work, in_blocks(files, together), actors=actors):
        sums = _sums(table, values.shape[1])
        if total is None:
            total = sums
        else:
            total.merge(sums)
    if total is None or not total.count:
        raise TagfillError(
            "none of the images has labels",
            file=folder,
            remedy="image ids must be the ends of the image paths of the features",
        )
    return Ridge.of(total).head(strength)


def _row(name: str, row_of: dict[str, int]) -> int:
    """The row of the longest id that a path ends in, else -1."""
    pieces = name.split("/")
    ends = ("/".join(pieces[start:]) for start in range(len(pieces)))
    return next((row_of[end] for end in ends if end in row_of), -1)


def _table(sums: Sums) -> pa.Table:
    arrays = [getattr(sums, name).reshape(-1).numpy() for name in _FIELDS]
    whole = np.concatenate([[sums.count, len(sums.features)], *arrays])
    return pa.table({"sums": whole})


def _sums(table: pa.Table, classes: int) -> Sums:
    whole = torch.from_numpy(table.column("sums").to_numpy().copy())
    sums = Sums(int(whole[1]), classes)
    sums.count = int(whole[0])
    start = 2
    for name in _FIELDS:
        field = getattr(sums, name)
        field += whole[start : start + field.numel()].reshape(field.shape)
        start += field.numel()
    return sums
