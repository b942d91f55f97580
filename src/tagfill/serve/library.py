"""The photos of a server: names, files and original labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tagfill.errors import TagfillError
from tagfill.labels import UNKNOWN, Dataset, Labels, LabelTable, Rows
from tagfill.train.data import TrainingData


@dataclass(frozen=True, eq=False)
class Library:
    """All photos of a run in any split; a photo is identified by its row.

    Args:
        table: the labels as their owner wrote them.
        truth: [N, K] the full labels behind masked ones, where a demo or study has them.
    """

    table: LabelTable
    paths: tuple[Path, ...]
    splits: Mapping[str, Rows]
    source: Path
    truth: Labels | None = None

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def split_of(self) -> tuple[str, ...]:
        names = [""] * len(self)
        for name, rows in self.splits.items():
            for row in rows.tolist():
                names[row] = name
        return tuple(names)

    @cached_property
    def held_out(self) -> Rows:
        """Photos no model was trained on."""
        rows = [self.splits[name] for name in ("val", "test") if name in self.splits]
        return np.concatenate(rows) if rows else np.arange(0)

    @cached_property
    def fully_labeled(self) -> npt.NDArray[np.bool_]:
        """[N] whether the label file says yes or no to every tag of a photo."""
        return np.asarray((self.table.values != UNKNOWN).all(axis=1))

    def dataset(self, table: LabelTable) -> Dataset:
        """Labels of these photos, ready to be written."""
        return Dataset(table=table, source=self.source, format="csv_wide", splits=self.splits)


def library_of(data: TrainingData, source: Path) -> Library:
    """The photos and labels of a run; refused where it was trained on given features."""
    if any(split.paths is None for split in data.splits.values()):
        raise TagfillError(
            "the run was trained on given features: there are no photos to show",
            file=source,
            remedy="train on images, with --images",
        )
    tables = [split.table for split in data.splits.values()]
    ends = np.cumsum([0] + [len(table) for table in tables])
    truths = [split.truth for split in data.splits.values()]
    known = [truth for truth in truths if truth is not None]
    return Library(
        table=LabelTable(
            tuple(image for table in tables for image in table.images),
            data.classes,
            np.concatenate([table.values for table in tables]),
        ),
        paths=tuple(path for split in data.splits.values() for path in split.paths or ()),
        splits={
            name: np.arange(start, end)
            for name, start, end in zip(data.splits, ends[:-1], ends[1:], strict=True)
        },
        source=source,
        truth=np.concatenate(known) if len(known) == len(truths) else None,
    )
