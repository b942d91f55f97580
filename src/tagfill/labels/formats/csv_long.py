"""Long CSV: one row per statement, ``image,label[,value][,split]``.

Value 1 is positive, 0 negative, empty unknown; without a value column every row is a positive. A
row with an image and no label lists the image; rows with a label and no image, above all others,
list the classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tagfill.files import write_csv
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._names import SPLIT
from tagfill.labels.formats._plan import LONG
from tagfill.labels.formats._tables import csv_shape, read_csv
from tagfill.labels.formats._write import not_held, split_of_rows
from tagfill.labels.formats.base import Format
from tagfill.labels.table import POSITIVE, UNKNOWN, LabelTable


def _detect(path: Path) -> bool:
    return csv_shape(path) == LONG


def _write(dataset: Dataset, path: Path) -> list[str]:
    names, lost = split_of_rows(dataset)
    header = ["image", "label", "value"] + ([SPLIT] if dataset.splits else [])
    splits = [[name] if dataset.splits else [] for name in (*names, "")]
    write_csv(path, header, ([*said, *splits[row]] for *said, row in _statements(dataset.table)))
    return lost + not_held(dataset)


def _statements(table: LabelTable) -> Iterator[tuple[str, str, str, int]]:
    for name in table.classes:
        yield "", name, "", -1
    for row, image in enumerate(table.images):
        known = np.flatnonzero(table.values[row] != UNKNOWN)
        if not len(known):
            yield image, "", "", row
        for column in known:
            value = "1" if table.values[row, column] == POSITIVE else "0"
            yield image, table.classes[column], value, row


FORMAT = Format(
    name=LONG,
    title="CSV, one row per statement: image,label[,value]",
    detect=_detect,
    read=read_csv(LONG),
    write=_write,
    default_absent="unknown",
)
