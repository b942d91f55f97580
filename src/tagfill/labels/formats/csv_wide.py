"""Wide CSV: one row an image, one column a class, entries 1, 0 or empty, or other ticks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._escape import CsvWriter
from tagfill.labels.formats._names import SPLIT, free_image_name
from tagfill.labels.formats._plan import WIDE, WIDE_ID
from tagfill.labels.formats._tables import csv_shape, header_shape, read_csv
from tagfill.labels.formats._ticks import code_of
from tagfill.labels.formats._wide import split_column
from tagfill.labels.formats._write import not_held
from tagfill.labels.formats.base import Format

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
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = CsvWriter(file)
        writer.row(header)
        for start in range(0, len(table), _BLOCK):
            rows = range(start, min(start + _BLOCK, len(table)))
            texts = _TEXTS[table.values[start : start + _BLOCK]].tolist()
            writer.rows(
                [table.images[row], *entries, *names[row : row + 1]]
                for row, entries in zip(rows, texts, strict=True)
            )
    return lost + not_held(dataset)


FORMAT = Format(
    name=WIDE,
    title="CSV, one column a class: 1, 0 or empty",
    detect=_detect,
    read=read_csv(WIDE),
    write=_write,
)
