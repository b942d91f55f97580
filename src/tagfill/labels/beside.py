"""What a label file cannot hold, kept in small tables beside it and read back with it.

``NAME.rejected.csv`` lists rejected tags of formats that cannot state a negative, and
``NAME.reviewed.csv`` which labels were answered in a review: nobody had written them before, which
says how many tags are still missing.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np

from tagfill.arrays import Mask
from tagfill.errors import Problems
from tagfill.files import without_guard, write_csv
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._sheet import delimiter
from tagfill.labels.formats._text import csv_records, head
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, LabelTable


@dataclass(frozen=True)
class Beside:
    """A table of entries beside a label file.

    Args:
        suffix: what its name has beyond that of the label file.
        column: header of the tags.
    """

    suffix: str
    column: str

    def path(self, source: Path) -> Path:
        """Where it is for a label file or folder."""
        if source.name in ("", ".."):  # "." has no name to add to
            source = Path(os.path.abspath(source))
        return source.parent / f"{source.name}{self.suffix}"

    def write(self, table: LabelTable, entries: Mask, source: Path) -> Path | None:
        """Replace it by the given entries; without any it is removed."""
        path, places = self.path(source), np.argwhere(entries).tolist()
        if not places:
            path.unlink(missing_ok=True)
            return None
        rows = [(table.images[row], table.classes[column]) for row, column in places]
        write_csv(path, ("image", self.column), rows)
        return path

    def read(self, table: LabelTable, path: Path) -> Iterator[tuple[int, int] | None]:
        """Rows and columns of its entries; None for images or tags that no longer exist."""
        column_of = {name: column for column, name in enumerate(table.classes)}
        names = [PurePosixPath(image).name for image in table.images]
        times = Counter(names)  # images may have been moved
        place_of = {name: row for row, name in enumerate(names) if times[name] == 1}
        for _, fields in csv_records(path, delimiter(head(path))):
            image, name = (without_guard(text).strip() for text in (*fields, "", "")[:2])
            if (image.lower(), name.lower()) == ("image", self.column) or not image:
                continue
            row = table.row_of.get(image, place_of.get(PurePosixPath(image).name))
            column = column_of.get(name)
            yield None if row is None or column is None else (row, column)


REJECTED = Beside(".rejected.csv", "rejected tag")
REVIEWED = Beside(".reviewed.csv", "reviewed tag")


def is_beside(path: Path) -> bool:
    """Whether a file belongs to a label file beside it."""
    return path.name.endswith((REJECTED.suffix, REVIEWED.suffix))


def write_rejections(table: LabelTable, source: Path) -> Path | None:
    """Write the negatives of a table; old rejections beside it are replaced."""
    return REJECTED.write(table, table.values == NEGATIVE, source)


def write_reviewed(table: LabelTable, source: Path) -> Path | None:
    """Write which labels a review answered, where that is known."""
    none = np.zeros(table.values.shape, dtype=bool)
    return REVIEWED.write(table, none if table.reviewed is None else table.reviewed, source)


def with_rejections(dataset: Dataset, source: Path, problems: Problems) -> Dataset:
    """The data set with the rejections beside its source stated as negatives."""
    path = REJECTED.path(source)
    if not path.is_file():
        return dataset
    values = dataset.table.values.copy()
    stated = overruled = lost = 0
    for place in REJECTED.read(dataset.table, path):
        if place is None:
            lost += 1
        elif values[place] == POSITIVE:
            overruled += 1
        else:
            stated += values[place] == UNKNOWN
            values[place] = NEGATIVE
    if overruled:
        problems.warn(f"{overruled} tags were rejected earlier and are present now", file=path)
    if lost:
        problems.warn(f"{lost} rejections are about images or tags that no longer exist", file=path)
    note = f"{stated:,} rejected tags were read from {path.name}"
    table = dataset.table.with_values(values)
    return replace(dataset, table=table, notes=(*dataset.notes, note))


def with_reviewed(dataset: Dataset, source: Path) -> Dataset:
    """The data set with what the file beside its source says about reviewed labels."""
    path = REVIEWED.path(source)
    if not path.is_file():
        return dataset
    table = dataset.table
    reviewed = np.zeros(table.values.shape, dtype=bool)
    for place in REVIEWED.read(table, path):
        if place is not None:
            reviewed[place] = table.values[place] != UNKNOWN
    note = f"{reviewed.sum():,} labels were answered in a review ({path.name})"
    reviewed_table = replace(table, reviewed=reviewed)
    return replace(dataset, table=reviewed_table, notes=(*dataset.notes, note))
