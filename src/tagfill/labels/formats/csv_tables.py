"""CSV in four shapes: one column per class, one row per statement (two ways), or lists of tags.

``csv_wide``: one row per image, one column per class, entries 1, 0 or empty, or other ticks.

``csv_long``: ``image,label[,value][,split]``. Value 1 is positive, 0 negative, empty unknown;
without a value column every row is a positive. A row with an image and no label lists the image.

``tag_list``: ``image,tags[,split]`` with the positives of an image in one entry.

In these two, rows without image above all others list the classes.

``open_images``: ``ImageID,Source,LabelName,Confidence``, as Open Images publishes its labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from tagfill.errors import TagfillError
from tagfill.files import write_csv
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._edit import edit_table
from tagfill.labels.formats._lists import read_long, read_open_images, read_tag_list
from tagfill.labels.formats._names import SPLIT, free_image_name, is_image_name
from tagfill.labels.formats._plan import (
    LONG,
    OPEN_IMAGES,
    TAG_LIST,
    WIDE,
    WIDE_ID,
    Plan,
    plan_columns,
    table_shape,
)
from tagfill.labels.formats._sheet import Sheet, csv_sheet, delimiter
from tagfill.labels.formats._tags import join_tags
from tagfill.labels.formats._text import head
from tagfill.labels.formats._ticks import code_of
from tagfill.labels.formats._wide import read_wide, split_column
from tagfill.labels.formats._write import known_labels, not_held, split_of_rows
from tagfill.labels.formats.base import Edit, Format, ReadOptions, Source
from tagfill.labels.table import POSITIVE, UNKNOWN, LabelTable

_BLOCK = 4096
_TEXTS = np.array(["0", "1", ""], dtype=object)
"""Texts of the codes 0, 1 and -1, the last by counting from the end."""
READERS: dict[str, Callable[[Source, Sheet, Plan], Dataset]] = {
    WIDE: read_wide,
    LONG: read_long,
    TAG_LIST: read_tag_list,
    OPEN_IMAGES: read_open_images,
}
_NO_TABLE = re.compile(
    r"\A(?:[\[{<]|.*\bregion_attributes\b)|^names\s*:|^(?:INSERT INTO|CREATE TABLE)\s", re.M | re.I
)
"""Beginnings of JSON, XML and VIA's CSV, the list of class names in YAML, and statements of SQL."""


def csv_shape(path: Path, options: ReadOptions | None = None) -> str | None:
    """Which of the CSV formats a file is; ``None`` if it is not a table."""
    if not path.is_file():
        return None
    state = path.stat()
    return _csv_shape(path, state.st_size, state.st_mtime_ns, options or ReadOptions())


@lru_cache(maxsize=32)
def _csv_shape(path: Path, size: int, modified: int, options: ReadOptions) -> str | None:
    text = head(path).lstrip()
    if not text or _NO_TABLE.search(text):
        return None
    try:
        sheet = csv_sheet(path)
        shape = plan_columns(sheet, options).shape
    except TagfillError:  # the reader will say what is wrong
        fields = text.splitlines()[0].split(delimiter(text))
        if options.names_columns:
            return TAG_LIST if options.tags_columns else WIDE
        with suppress(TagfillError):
            sheet = csv_sheet(path)
            return table_shape(sheet) if len(sheet.header) > 1 else None
        with suppress(TagfillError):
            return header_shape(fields) if len(fields) > 1 else None
        return WIDE
    alone = len(sheet.header) == 1 and sheet.header_row is not None
    return None if alone and not is_image_name(sheet.header[0]) else shape


def header_shape(header: Sequence[str]) -> str:
    """The shape that a header alone announces."""
    sheet = Sheet(Path(), tuple(header), 1, lambda: iter(()), ())
    return plan_columns(sheet, ReadOptions()).shape


def has_shape(path: Path, shape: str) -> bool:
    return csv_shape(path) == shape


def _read(source: Source) -> Dataset:
    return read_sheet(source, csv_sheet(source.path), source.format.name)


def _edit(edit: Edit, out: Path) -> bool:
    return edit_table(edit, out, csv_sheet(edit.source.path), edit.source.format.name)


def read_sheet(source: Source, sheet: Sheet, shape: str | None = None) -> Dataset:
    """Read a table of a given shape, or of the one its columns announce."""
    plan = plan_columns(sheet, source.options, shape)
    return READERS[plan.shape](source, sheet, plan)


def _write_wide(dataset: Dataset, path: Path) -> list[str]:
    table = dataset.table
    names, lost = split_column(dataset)
    if names and not any(code_of(name) is None for name in names):
        names, lost = [], [*lost, "splits are not written: names such as 1 and 0 look like labels"]
    header = [free_image_name(table.classes), *table.classes] + ([SPLIT] if names else [])
    if header_shape(header) != WIDE:
        header[0] = WIDE_ID
    write_csv(path, header, _wide_rows(table, names))
    return lost + not_held(dataset)


def _wide_rows(table: LabelTable, splits: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(table), _BLOCK):
        texts = _TEXTS[table.values[start : start + _BLOCK]].tolist()
        for row, entries in enumerate(texts, start):
            yield [table.images[row], *entries, *splits[row : row + 1]]


def _write_rows(dataset: Dataset, path: Path, *, header: list[str]) -> list[str]:
    """Write statements or lists of tags, with the split of each row's image."""
    names, lost = split_of_rows(dataset)
    splits = [[name] if dataset.splits else [] for name in (*names, "")]
    rows = _statements(dataset.table) if "value" in header else _tag_lists(dataset.table)
    header = header + ([SPLIT] if dataset.splits else [])
    write_csv(path, header, ([*fields, *splits[row]] for row, *fields in rows))
    return lost + not_held(dataset)


def _statements(table: LabelTable) -> Iterator[tuple[int, str, str, str]]:
    for name in table.classes:
        yield -1, "", name, ""
    for row, image in enumerate(table.images):
        known = np.flatnonzero(table.values[row] != UNKNOWN)
        if not len(known):
            yield row, image, "", ""
        for column in known:
            value = "1" if table.values[row, column] == POSITIVE else "0"
            yield row, image, table.classes[column], value


def _tag_lists(table: LabelTable) -> Iterator[tuple[int, str, str]]:
    yield -1, "", join_tags(table.classes)
    for row, image in enumerate(table.images):
        yield row, image, join_tags(known_labels(table, row, POSITIVE))


FORMATS = (
    Format(
        WIDE,
        "CSV, one column per class: 1, 0 or empty",
        partial(has_shape, shape=WIDE),
        _read,
        write=_write_wide,
        edit=_edit,
        default_absent=None,
    ),
    Format(
        LONG,
        "CSV, one row per statement: image,label[,value]",
        partial(has_shape, shape=LONG),
        _read,
        write=partial(_write_rows, header=["image", "label", "value"]),
        edit=_edit,
    ),
    Format(
        TAG_LIST,
        'CSV of tag lists: image,"a;b;c"',
        partial(has_shape, shape=TAG_LIST),
        _read,
        write=partial(_write_rows, header=["image", "tags"]),
        edit=_edit,
        holds_negatives=False,
    ),
    Format(
        OPEN_IMAGES,
        "Open Images image-level labels csv",
        partial(has_shape, shape=OPEN_IMAGES),
        _read,
    ),
)
