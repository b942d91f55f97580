"""Parquet tables: as wide CSV (int8 columns of 1, 0, null), or with tags as lists or text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tagfill.array_files import Budget, read_parquet
from tagfill.errors import TagfillError
from tagfill.files import atomic_path
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._entries import Entries
from tagfill.labels.formats._names import SPLIT, free_image_name
from tagfill.labels.formats._plan import TAG_LIST, WIDE, WIDE_ID, Plan, plan_columns
from tagfill.labels.formats._rows import Tally
from tagfill.labels.formats._sheet import Record, Sheet
from tagfill.labels.formats._tags import is_multi_hot, join_tags, split_tags, tag_names
from tagfill.labels.formats._ticks import code_of
from tagfill.labels.formats._wide import read_wide, split_column
from tagfill.labels.formats._write import not_held
from tagfill.labels.formats.base import Edit, Format, Source
from tagfill.labels.formats.csv_tables import header_shape, read_sheet
from tagfill.labels.table import POSITIVE, UNKNOWN, Labels

_MAGIC = b"PAR1"
_SAMPLE = 500
_IMAGES = 64
"""Images held at a time."""


def _detect(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _images(path: Path) -> Iterator[tuple[str, bytes]]:
    """Images of columns with bytes and path, as the hub has them, some rows at a time."""
    budget = Budget(path)
    try:
        file = pa.parquet.ParquetFile(path)
        structs = [field for field in file.schema_arrow if pa.types.is_struct(field.type)]
        names = [s.name for s in structs if {"bytes", "path"} <= {part.name for part in s.type}]
        for batch in file.iter_batches(_IMAGES, columns=names) if names else ():
            for value in batch.column(0).to_pylist():
                if value and value.get("bytes"):
                    budget.spend(len(value["bytes"]))
                    yield _text(value), value["bytes"]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TagfillError(f"not readable as parquet ({error})", file=path) from None


def read_arrow(source: Source, table: pa.Table) -> Dataset:
    sheet = _sheet(table, source.path)
    plan = plan_columns(sheet, source.options)
    if plan.shape != WIDE:
        return read_sheet(source, sheet, plan.shape)
    kind = table.column(plan.image).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_path = pa.types.is_struct(kind) and kind.get_field_index("path") >= 0
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not (is_path or is_text or pa.types.is_integer(kind)):
        raise source.refusal(f"column {sheet.header[plan.image]!r} should hold image ids as text")

    def read(source: Source, sheet: Sheet, plan: Plan) -> tuple[Entries, list[Tally]]:
        tallies = [Tally() for _ in plan.labels]
        values = np.empty((len(plan.labels), len(table)), dtype=np.int8)
        for number, column in enumerate(plan.labels):
            values[number] = _codes(table.column(column), tallies[number])
        splits = [] if plan.split is None else _column(table, plan.split)
        rows = range(1, len(table) + 1)
        return Entries(_column(table, plan.image), rows, splits, values.T), tallies

    return read_wide(source, sheet, plan, read)


def _sheet(table: pa.Table, path: Path) -> Sheet:
    def records() -> Iterator[Record]:
        columns = [_column(table, number) for number in range(table.num_columns)]
        return zip(count(1), map(list, zip(*columns, strict=True)), strict=False)

    if not table.num_columns:
        raise TagfillError("it has no columns", file=path)
    first = table.slice(0, _SAMPLE)
    columns = [_column(first, number) for number in range(table.num_columns)]
    sample = tuple(map(list, zip(*columns, strict=True)))
    return Sheet(path, tuple(table.column_names), 0, records, sample)


def _column(table: pa.Table, number: int) -> list[str]:
    return [_text(value) for value in table.column(number).to_pylist()]


def _text(value: Any) -> str:
    """An entry as text, as in a CSV: lists as tags, images by their path."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list):
        pairs = value and all(isinstance(entry, tuple) for entry in value)
        names = [None] if pairs else tag_names(value)
        if None in names or is_multi_hot(value):
            return json.dumps(dict(value) if pairs else value, default=str)
        return join_tags(name for name in names if name)
    if isinstance(value, dict):
        is_image = "path" in value or "bytes" in value
        return str(value.get("path") or "") if is_image else json.dumps(value, default=str)
    return value if isinstance(value, str) else str(value)


def _codes(column: pa.ChunkedArray, tally: Tally) -> Labels:
    """The labels of a column; what is none of them is counted."""
    if pa.types.is_nested(column.type):
        column = pa.chunked_array([[_text(value) for value in column.to_pylist()]], pa.string())
    values = column.combine_chunks()
    values = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    texts = np.array([*map(_text, values.dictionary.to_pylist()), ""], dtype=object)
    place = values.indices.fill_null(len(texts) - 1).to_numpy()
    codes = [code_of(text) for text in texts]
    tally.filled = int((texts != "")[place].sum())
    for row in np.flatnonzero(np.array([code is None for code in codes])[place]).tolist():
        tally.add(row + 1, texts[place[row]])
    known = [UNKNOWN if code is None else code for code in codes]
    labels: Labels = np.array(known, dtype=np.int8)[place]
    return labels


def _edit(edit: Edit, out: Path) -> bool:
    """Write a copy with changed labels of some images; all other columns stay."""
    source, changes, name_of = edit.source, edit.changes, edit.name_of
    table = read_parquet(source.path)
    sheet = _sheet(table, source.path)
    plan = plan_columns(sheet, source.options)
    if plan.shape not in (WIDE, TAG_LIST):
        raise edit.refusal("a parquet file with one row per statement cannot be edited")
    rows: dict[str, list[int]] = {}
    for row, image in enumerate(edit.ids_of(_column(table, plan.image))):
        rows.setdefault(image, []).append(row)
    classes = plan.labels if plan.split is None else (*plan.labels, plan.split)
    known = {name_of(sheet.header[column].strip()) for column in classes}
    for name in dict.fromkeys(name for labels in changes.values() for name in labels):
        if name not in known and not plan.tags:  # of the user's list, and without a column so far
            classes = (*classes, table.num_columns)
            table = table.append_column(name, pa.nulls(len(table), pa.int8()))
    for column in plan.tags[:1] or classes:
        values, kind = table.column(column).to_pylist(), table.column(column).type
        kind = pa.int8() if pa.types.is_null(kind) else kind
        for image, labels in changes.items():
            for row, (name, value) in product(rows[image], labels.items()):
                if plan.tags:
                    values[row] = _with_tag(values[row], name, value, name_of)
                elif name_of(table.column_names[column].strip()) == name:
                    values[row] = _like(kind, value)
        table = table.set_column(column, table.column_names[column], pa.array(values, kind))
    with atomic_path(out) as draft:
        pa.parquet.write_table(table, draft)
    return not plan.tags


def _with_tag(entry: Any, name: str, value: int, name_of: Callable[[str], str]) -> Any:
    tags = [str(tag) for tag in entry] if isinstance(entry, list) else split_tags(entry or "")
    kept = [tag for tag in tags if name_of(tag) != name] + [name] * (value == POSITIVE)
    return kept if isinstance(entry, list) else join_tags(kept)


def _like(kind: pa.DataType, value: int) -> Any:
    """A label as a value of the column's type."""
    if value == UNKNOWN:
        return None
    if pa.types.is_boolean(kind):
        return bool(value)
    return value if pa.types.is_integer(kind) or pa.types.is_floating(kind) else str(value)


def _write(dataset: Dataset, path: Path) -> list[str]:
    table = dataset.table
    names, lost = split_column(dataset)
    header = [free_image_name(table.classes), *table.classes]
    if header_shape(header) != WIDE:
        header[0] = WIDE_ID
    columns = [
        pa.array(table.images, pa.string()),
        *(pa.array(values, pa.int8(), mask=values == UNKNOWN) for values in table.values.T),
    ]
    if names:
        header.append(SPLIT)
        columns.append(pa.array([name or None for name in names], pa.string()))
    pa.parquet.write_table(pa.Table.from_arrays(columns, names=header), path)
    return lost + not_held(dataset)


FORMAT = Format(
    "parquet",
    "Parquet, one column per class: 1, 0 or null",
    _detect,
    lambda source: read_arrow(source, read_parquet(source.path)),
    write=_write,
    edit=_edit,
    images=_images,
    default_absent=None,
)
