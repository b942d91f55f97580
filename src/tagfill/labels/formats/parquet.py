"""Wide parquet: a string column of image ids, one int8 column a class (1, 0, null), a split."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tagfill.errors import Problems, TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._text import SPLIT
from tagfill.labels.formats._wide import Cells, layout_of, split_column, wide_dataset
from tagfill.labels.formats._write import free_id_name, not_held
from tagfill.labels.formats.base import Format, ReadOptions
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels

_MAGIC = b"PAR1"


def _detect(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _read(path: Path, options: ReadOptions, problems: Problems) -> Dataset:
    try:
        table = pa.parquet.read_table(path)
    except pa.ArrowException as error:
        raise TagfillError(f"not readable as parquet ({error})", file=path) from None
    layout = layout_of(table.column_names, path)
    if layout.split is not None and not _is_text(table.column(layout.split)):
        layout = layout.with_split_as_class()
    if not _is_text(table.column(layout.image)):
        raise TagfillError(
            f"column {layout.header[layout.image]!r} should hold image ids as text", file=path
        )
    values = np.empty((len(layout.labels), len(table)), dtype=np.int8)
    for number, column in enumerate(layout.labels):
        values[number] = _codes(table.column(column), layout.classes[number], path, problems)
    cells = Cells(
        images=_texts(table, layout.image),
        rows=range(1, len(table) + 1),
        splits=[] if layout.split is None else _texts(table, layout.split),
        values=values.T,
    )
    return wide_dataset(path, FORMAT.name, layout.classes, cells, options, problems)


def _is_text(column: pa.ChunkedArray) -> bool:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _texts(table: pa.Table, column: int) -> list[str]:
    return [text or "" for text in table.column(column).to_pylist()]


def _codes(column: pa.ChunkedArray, name: str, path: Path, problems: Problems) -> Labels:
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        if not pa.types.is_null(kind):
            problems.error(f"column {name!r} holds {kind}, not labels (1, 0, null)", file=path)
        return np.full(len(column), UNKNOWN, dtype=np.int8)
    numbers = column.cast(pa.float64()).to_numpy()
    codes = np.full(len(numbers), UNKNOWN, dtype=np.int8)
    codes[numbers == POSITIVE] = POSITIVE
    codes[numbers == NEGATIVE] = NEGATIVE
    for row in np.flatnonzero((codes == UNKNOWN) & ~np.isnan(numbers)):
        problems.error(
            f"{numbers[row]:g} in column {name!r} is not 1, 0 or null", file=path, row=int(row) + 1
        )
    return codes


def _write(dataset: Dataset, path: Path) -> list[str]:
    table = dataset.table
    names, lost = split_column(dataset)
    header = [free_id_name(table.classes), *table.classes]
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
    name="parquet",
    title="Parquet, one column a class: 1, 0 or null",
    detect=_detect,
    read=_read,
    write=_write,
)
