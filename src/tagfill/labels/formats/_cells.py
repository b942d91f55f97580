"""The cells of a wide CSV: fast where the file is clean, careful where something is wrong."""

from __future__ import annotations

from array import array
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv

from tagfill.errors import Problems
from tagfill.labels.formats._ids import odd_ids
from tagfill.labels.formats._text import csv_records, delimiter, head
from tagfill.labels.formats._wide import Cells, Layout
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels

CODES = {"": UNKNOWN, "0": NEGATIVE, "1": POSITIVE, "0.0": NEGATIVE, "1.0": POSITIVE}
"""What a cell may hold; ``1.0`` and ``0.0`` are what pandas writes where cells are missing."""

_BLOCK = 1 << 22
_MANY = 20


def read_fast(path: Path, layout: Layout) -> Cells | None:
    """Read a clean file with pyarrow; ``None`` where anything in it needs a closer look."""
    for kind in (pa.int8(), pa.float32()):
        try:
            cells = _read_as(kind, path, layout)
        except pa.ArrowInvalid:
            continue
        clean = cells is not None and not len(odd_ids(cells.images))
        return cells if cells and clean and len(set(cells.images)) == len(cells.images) else None
    return None


def _read_as(kind: pa.DataType, path: Path, layout: Layout) -> Cells | None:
    types = {layout.header[column]: kind for column in layout.labels}
    texts = [layout.image] if layout.split is None else [layout.image, layout.split]
    types |= {layout.header[column]: pa.string() for column in texts}
    table = pa.csv.read_csv(
        path,
        read_options=pa.csv.ReadOptions(block_size=_BLOCK),
        parse_options=pa.csv.ParseOptions(delimiter=delimiter(head(path)), newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(column_types=types, null_values=[""]),
    )
    values = np.empty((len(layout.labels), len(table)), dtype=np.int8)
    for number, column in enumerate(layout.labels):
        codes = table.column(column).cast(pa.int8())
        bounds = pa.compute.min_max(codes).as_py()
        if bounds["min"] is not None and (bounds["min"] < NEGATIVE or bounds["max"] > POSITIVE):
            return None
        values[number] = codes.fill_null(UNKNOWN).to_numpy()
    images, *splits = (table.column(column).to_pylist() for column in texts)
    return Cells(images, range(2, len(images) + 2), splits[0] if splits else [], values.T)


def read_careful(path: Path, layout: Layout, problems: Problems) -> Cells:
    """Read record by record, reporting every bad cell with its line and column."""
    images: list[str] = []
    rows: list[int | None] = []
    splits: list[str] = []
    values = array("b")
    bad: dict[int, list[tuple[int, str]]] = {}
    for row, fields in islice(csv_records(path), 1, None):
        if len(fields) != len(layout.header):
            problems.error(
                f"{len(fields)} fields where the header has {len(layout.header)}",
                file=path,
                row=row,
            )
            fields = _id_only(fields, layout)
        rows.append(row)
        images.append(fields[layout.image])
        if layout.split is not None:
            splits.append(fields[layout.split])
        values.extend(_codes([fields[column] for column in layout.labels], row, bad))
    shaped = np.array(values, dtype=np.int8).reshape(len(images), len(layout.labels))
    for number, cells in sorted(bad.items()):
        _report(cells, layout.classes[number], shaped[:, number], path, problems)
    return Cells(images, rows, splits, shaped)


def _codes(texts: list[str], row: int, bad: dict[int, list[tuple[int, str]]]) -> list[int]:
    try:
        return [CODES[text] for text in texts]
    except KeyError:
        codes = [CODES.get(text.strip()) for text in texts]
    for number, code in enumerate(codes):
        if code is None:
            bad.setdefault(number, []).append((row, texts[number]))
    return [UNKNOWN if code is None else code for code in codes]


def _id_only(fields: list[str], layout: Layout) -> list[str]:
    texts = [""] * len(layout.header)
    texts[layout.image] = "".join(fields[layout.image : layout.image + 1])
    return texts


def _report(
    bad: list[tuple[int, str]], name: str, column: Labels, path: Path, problems: Problems
) -> None:
    if len(bad) > _MANY and (column == UNKNOWN).all():
        problems.error(
            f"column {name!r} holds no labels: {len(bad)} values such as {bad[0][1]!r}",
            file=path,
            row=1,
            remedy="remove the column, or name the id column 'image'",
        )
        return
    for row, text in bad:
        problems.error(
            f"{text!r} in column {name!r} is not 1, 0 or empty",
            file=path,
            row=row,
            remedy="1 is positive, 0 negative, an empty cell unknown",
        )
