"""A linear head from features in parts: sums of products by block, added up, solved at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from pyarrow import parquet
from torch import Tensor

from tagfill.errors import TagfillError
from tagfill.jobs.engines import EngineName, in_blocks, run_blocks
from tagfill.jobs.folder import parts
from tagfill.jobs.work import IMAGE, Do, matrix_of
from tagfill.labels import LabelTable
from tagfill.linear.ridge import STRENGTHS, Ridge, Sums, best_strength

SCORED = 256
"""Parts that the strength is chosen by at most: each costs several times what its sums do."""
_FIELDS = ("features", "targets", "squares", "products")


@dataclass(frozen=True)
class LabeledParts:
    """Labels of the images whose features are in parts.

    Args:
        labels: [N, K] as bytes, with the images they are of.
        images: the ids; a part's image belongs to the id its path ends in.
    """

    labels: bytes
    images: tuple[str, ...]
    classes: int

    def rows(self, files: Sequence[str]) -> Iterator[tuple[Tensor, Tensor]]:
        """Features and targets of the labeled images of each part."""
        values = np.frombuffer(self.labels, np.int8).reshape(-1, self.classes)
        row_of = {image: row for row, image in enumerate(self.images)}
        for file in files:
            table = parquet.read_table(file)
            matrix, rows = matrix_of(table)
            names = table.column(IMAGE).take(rows).to_pylist()
            labels = np.array([_row(name, row_of) for name in names], np.intp)
            known = labels >= 0
            targets = values[labels[known]] == 1
            yield torch.from_numpy(matrix[known]), torch.from_numpy(targets)


@dataclass(frozen=True)
class SumsWork:
    """Sums of products of some parts."""

    parts: LabeledParts

    def about(self) -> dict[str, Any]:
        """Nothing: the result is not stored."""
        return {"work": "sums"}

    def open(self) -> Do:
        def sums_of(files: Sequence[str]) -> pa.Table:
            sums = None
            for features, targets in self.parts.rows(files):
                sums = sums or Sums(features.shape[1], targets.shape[1])
                sums.add(features, targets)
            assert sums is not None
            return _table(sums)

        return sums_of


@dataclass(frozen=True)
class ErrorsWork:
    """Leave-one-out errors of some parts, one for each strength."""

    parts: LabeledParts
    family: Ridge

    def about(self) -> dict[str, Any]:
        """Nothing: the result is not stored."""
        return {"work": "errors"}

    def open(self) -> Do:
        return lambda files: pa.table({"errors": self.family.leave_one_out(self.parts.rows(files))})


def ridge_head(
    folder: Path,
    labels: LabelTable,
    *,
    strength: float | None = None,
    engine: EngineName = "local",
    actors: int | None = None,
    together: int = 64,
) -> tuple[Tensor, Tensor]:
    """[K, D] weights and [K] biases of least squares on the features of a job.

    Unknown labels count as negative. One pass for the sums, and one over at most ``SCORED`` parts
    where the strength is to be chosen. No process holds more than one part and the sums.

    Args:
        folder: written by ``tagfill features``.
        labels: of its images; images without labels are left out.
        strength: of the penalty, relative to the features' mean sum of squares; by default the one
            with the least leave-one-out error.
        together: parts added up before they are sent.
    """
    files = [str(part.resolve()) for part in parts(folder)]
    values = np.ascontiguousarray(labels.values, np.int8)
    labeled = LabeledParts(values.tobytes(), labels.images, values.shape[1])
    total: Sums | None = None
    for _, table in run_blocks(
        engine, SumsWork(labeled), in_blocks(files, together), actors=actors
    ):
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
    family = Ridge.of(total)
    if strength is None:
        some = files[:: -(-len(files) // SCORED)]
        blocks = in_blocks(some, together)
        errors = np.zeros(len(STRENGTHS))
        for _, table in run_blocks(engine, ErrorsWork(labeled, family), blocks, actors=actors):
            errors += table.column("errors").to_numpy()
        strength = best_strength(errors)
    return family.head(strength)


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
