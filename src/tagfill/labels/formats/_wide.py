"""Wide tables, one column a class: which column holds what, and the data set they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tagfill.errors import Problems, TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._gather import absence_note
from tagfill.labels.formats._ids import clean_ids, find_root
from tagfill.labels.formats._merge import Records
from tagfill.labels.formats._text import SPLIT, id_column
from tagfill.labels.formats._write import split_of_rows
from tagfill.labels.formats.base import ReadOptions
from tagfill.labels.table import NEGATIVE, UNKNOWN, Labels


@dataclass(frozen=True)
class Layout:
    """Which columns hold what.

    Args:
        header: all column names, as the file spells them.
        image: number of the column with ids.
        labels: numbers of the class columns.
        split: number of the column with split names, if there is one.
    """

    header: Sequence[str]
    image: int
    labels: Sequence[int]
    split: int | None

    @property
    def classes(self) -> tuple[str, ...]:
        """The class names, outer blanks removed."""
        return tuple(self.header[column].strip() for column in self.labels)

    def with_split_as_class(self) -> Layout:
        """The same columns, the one called "split" being a class like any other."""
        columns = [each for each in range(len(self.header)) if each != self.image]
        return Layout(self.header, self.image, columns, None)


@dataclass(frozen=True)
class Cells:
    """What was read: id, place and split of each record, values [records, K]."""

    images: Sequence[str]
    rows: Sequence[int | None]
    splits: Sequence[str]
    values: Labels


def layout_of(header: Sequence[str], path: Path, row: int | None = None) -> Layout:
    """Find the columns of a header; names must be there and differ."""
    if not header:
        raise TagfillError("there are no columns in it", file=path)
    names = [name.strip() for name in header]
    lowered = [name.lower() for name in names]
    image = id_column(header)
    split = next(
        (each for each, name in enumerate(lowered) if name == SPLIT and each != image), None
    )
    for column, name in enumerate(names):
        if not name and column != image:
            raise TagfillError(
                f"column {column + 1} has no name",
                file=path,
                row=row,
                remedy="pandas writes such a column unless told index=False",
            )
        if name in names[:column]:
            raise TagfillError(
                f"columns {names.index(name) + 1} and {column + 1} are both called {name!r}",
                file=path,
                row=row,
            )
    labels = [column for column in range(len(names)) if column not in (image, split)]
    return Layout(header, image, labels, split)


def wide_dataset(
    path: Path,
    format: str,
    found: tuple[str, ...],
    cells: Cells,
    options: ReadOptions,
    problems: Problems,
) -> Dataset:
    """The data set of a wide table whose columns are the classes found."""
    classes, values, notes = _listed(found, cells.values, path, options, problems)
    if options.absent == "negative":
        values = np.where(values == UNKNOWN, np.int8(NEGATIVE), values)
        notes.append(absence_note("negative"))
    root = options.image_root
    ids = clean_ids(cells.images, cells.rows, path, root, problems)
    records = Records(ids, cells.rows, classes, values, path, problems)
    table, place = records.merged()
    stated = {record: name for record, name in enumerate(cells.splits) if name.strip()}
    return Dataset(
        table=table,
        source=path,
        format=format,
        splits=records.splits(place, stated),
        image_root=root or find_root(path, table.images),
        notes=tuple(notes),
    )


def _listed(
    found: tuple[str, ...], values: Labels, path: Path, options: ReadOptions, problems: Problems
) -> tuple[tuple[str, ...], Labels, list[str]]:
    """Columns in the order of the class list, if one was given; other classes are errors."""
    if options.classes is None:
        return found, values, []
    for name in found:
        if name not in options.classes:
            problems.error(f"class {name!r} is not in the class list", file=path, row=1)
    listed = np.full((len(values), len(options.classes)), UNKNOWN, dtype=np.int8)
    missing = []
    for column, name in enumerate(options.classes):
        if name in found:
            listed[:, column] = values[:, found.index(name)]
        else:
            missing.append(name)
    notes = [f"classes of the list without a column: {', '.join(missing)}"] if missing else []
    return options.classes, listed, notes


def split_column(dataset: Dataset) -> tuple[list[str], list[str]]:
    """The split of every row for a column beside the classes, and what it cannot hold.

    The column is empty ([]) where there is nothing to write.
    """
    if not dataset.splits:
        return [], []
    if any(name.lower() == SPLIT for name in dataset.table.classes):
        return [], ["splits are not written: a class is called 'split'"]
    names, lost = split_of_rows(dataset)
    return (names if any(names) else []), lost
