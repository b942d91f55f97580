"""Wide CSV: one row per image, one column per class, entries 1, 0 or empty, or other ticks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tagfill.files import write_csv
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._names import SPLIT, free_image_name
from tagfill.labels.formats._plan import WIDE, WIDE_ID
from tagfill.labels.formats._tables import csv_shape, header_shape, read_csv
from tagfill.labels.formats._ticks import code_of
from tagfill.labels.formats._wide import split_column
from tagfill.labels.formats._write import not_held
from tagfill.labels.formats.base import Format
from tagfill.labels.table import LabelTable

_BLOCK = 4096
_TEXTS = np.array(["0", "1", ""], dtype=object)
"""Texts of the codes 0, 1 and -1, the last by counting from the end."""


def _detect(path: Path) -> bool:
    return csv_shape(path) == WIDE


def _write(dataset: Dataset, path: Path) -> list[str]:
    table = dataset.table
    names, lost = split_column(dataset)
    if names and not any(code_of(name) is None for name in names):
        names, lost = [], [*lost, "splits are not written: names such as 1 and 0 look like labels"]
    header = [free_image_name(table.classes), *table.classes] + ([SPLIT] if names else [])
    if header_shape(header) != WIDE:
        header[0] = WIDE_ID
    write_csv(path, header, _rows(table, names))
    return lost + not_held(dataset)


def _rows(table: LabelTable, splits: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(table), _BLOCK):
        texts = _TEXTS[table.values[start : start + _BLOCK]].tolist()
        for row, entries in enumerate(texts, start):
            yield [table.images[row], *entries, *splits[row : row + 1]]


FORMAT = Format(
    name=WIDE,
    title="CSV, one column per class: 1, 0 or empty",
    detect=_detect,
    read=read_csv(WIDE),
    write=_write,
)
