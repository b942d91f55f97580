"""Rejected tags, kept beside label files that cannot hold them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np

from tagfill.errors import Problems
from tagfill.files import without_guard, write_csv
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._sheet import delimiter
from tagfill.labels.formats._text import csv_records, head
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, LabelTable

_SUFFIX = ".rejected.csv"
HEADER = ("image", "rejected tag")


def rejections_path(source: Path) -> Path:
    """Where the rejections of a label file or folder are kept."""
    return source.with_name(source.name + _SUFFIX)


def is_rejections(path: Path) -> bool:
    """Whether a file contains rejections."""
    return path.name.endswith(_SUFFIX)


def write_rejections(table: LabelTable, source: Path) -> Path | None:
    """Write the negatives of a table; old rejections beside it are replaced.

    Returns:
        The file, if there is anything in it.
    """
    path = rejections_path(source)
    rows, columns = np.nonzero(table.values == NEGATIVE)
    if len(rows) or path.exists():
        pairs = zip(rows.tolist(), columns.tolist(), strict=True)
        write_csv(path, HEADER, [(table.images[r], table.classes[c]) for r, c in pairs])
    return path if len(rows) else None


def with_rejections(dataset: Dataset, source: Path, problems: Problems) -> Dataset:
    """The data set with the rejections beside its source stated as negatives."""
    path = rejections_path(source)
    if not path.is_file():
        return dataset
    table = dataset.table
    column_of = {name: column for column, name in enumerate(table.classes)}
    place_of = _unique_names(table)
    values = table.values.copy()
    stated = overruled = lost = 0
    for _, fields in csv_records(path, delimiter(head(path))):
        image, name = (without_guard(text).strip() for text in (*fields, "", "")[:2])
        if (image.lower(), name.lower()) == HEADER or not image:
            continue
        row = table.row_of.get(image, place_of.get(PurePosixPath(image).name))
        column = column_of.get(name)
        if row is None or column is None:
            lost += 1
        elif values[row, column] == POSITIVE:
            overruled += 1
        else:
            stated += values[row, column] == UNKNOWN
            values[row, column] = NEGATIVE
    if overruled:
        problems.warn(f"{overruled} tags were rejected earlier and are present now", file=path)
    if lost:
        problems.warn(f"{lost} rejections are about images or tags that no longer exist", file=path)
    note = f"{stated:,} rejected tags were read from {path.name}"
    return replace(dataset, table=table.with_values(values), notes=(*dataset.notes, note))


def _unique_names(table: LabelTable) -> dict[str, int]:
    """Rows by bare file names that are unique: images may have been moved."""
    names = [PurePosixPath(image).name for image in table.images]
    times = Counter(names)
    return {name: row for row, name in enumerate(names) if times[name] == 1}
