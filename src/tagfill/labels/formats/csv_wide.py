"""Wide CSV: one row an image, one column a class, cells 1, 0 or empty."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from tagfill.errors import Problems
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._cells import CODES, read_careful, read_fast
from tagfill.labels.formats._text import SPLIT, csv_kind, csv_records, header_kind
from tagfill.labels.formats._wide import Cells, Layout, layout_of, split_column, wide_dataset
from tagfill.labels.formats._write import free_id_name, not_held
from tagfill.labels.formats.base import Format, ReadOptions

_BLOCK = 4096
_TEXTS = np.array(["0", "1", ""], dtype=object)
"""Texts of the codes 0, 1 and -1, the last by counting from the end."""


def _detect(path: Path) -> bool:
    return csv_kind(path) == FORMAT.name


def _read(path: Path, options: ReadOptions, problems: Problems) -> Dataset:
    row, header = next(csv_records(path), (None, []))
    layout = layout_of(header, path, row)
    found = Problems()
    cells = _cells(path, layout, found)
    if layout.split is not None and set(cells.splits) <= set(CODES):
        layout, found = layout.with_split_as_class(), Problems()
        cells = _cells(path, layout, found)
    problems.found.extend(found)
    return wide_dataset(path, FORMAT.name, layout.classes, cells, options, problems)


def _cells(path: Path, layout: Layout, problems: Problems) -> Cells:
    return read_fast(path, layout) or read_careful(path, layout, problems)


def _write(dataset: Dataset, path: Path) -> list[str]:
    table = dataset.table
    names, lost = split_column(dataset)
    if names and set(names) <= set(CODES):
        names, lost = [], [*lost, "splits are not written: names such as 1 and 0 look like labels"]
    header = [free_id_name(table.classes), *table.classes] + ([SPLIT] if names else [])
    if header_kind(header) != FORMAT.name:
        header[0] = "image id"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for start in range(0, len(table), _BLOCK):
            rows = range(start, min(start + _BLOCK, len(table)))
            texts = _TEXTS[table.values[start : start + _BLOCK]].tolist()
            writer.writerows(
                [table.images[row], *cells, *names[row : row + 1]]
                for row, cells in zip(rows, texts, strict=True)
            )
    return lost + not_held(dataset)


FORMAT = Format(
    name="csv_wide",
    title="CSV, one column a class: 1, 0 or empty",
    detect=_detect,
    read=_read,
    write=_write,
)
