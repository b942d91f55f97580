"""Tables of all shapes: open them, recognize their shape and read them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from tagfill.errors import Problems, TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._lists import read_long, read_tag_list
from tagfill.labels.formats._names import is_image_name
from tagfill.labels.formats._plan import LONG, TAG_LIST, WIDE, Plan, plan_columns
from tagfill.labels.formats._sheet import Sheet, csv_sheet, delimiter
from tagfill.labels.formats._text import head
from tagfill.labels.formats._wide import read_wide
from tagfill.labels.formats.base import ReadOptions

TableReader = Callable[[Sheet, Plan, str, ReadOptions, Problems], Dataset]

_READERS: dict[str, TableReader] = {WIDE: read_wide, LONG: read_long, TAG_LIST: read_tag_list}
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
            return header_shape(fields) if len(fields) > 1 else None
        return WIDE
    alone = len(sheet.header) == 1 and sheet.header_row is not None
    return None if alone and not is_image_name(sheet.header[0]) else shape


def header_shape(header: Sequence[str]) -> str:
    """The shape that a header alone announces."""
    sheet = Sheet(Path(), tuple(header), 1, lambda: iter(()), ())
    return plan_columns(sheet, ReadOptions()).shape


def has_shape(path: Path, shape: str) -> bool:
    """Whether a file is a table of that shape."""
    return csv_shape(path) == shape


def read_csv(path: Path, options: ReadOptions, problems: Problems, shape: str) -> Dataset:
    """Read a CSV file of a given shape."""
    return read_sheet(csv_sheet(path), shape, options, problems, shape)


def read_sheet(
    sheet: Sheet,
    format: str,
    options: ReadOptions,
    problems: Problems,
    shape: str | None = None,
) -> Dataset:
    """Read a table of a given shape, or of the one its columns announce."""
    return read_planned(sheet, plan_columns(sheet, options, shape), format, options, problems)


def read_planned(
    sheet: Sheet, plan: Plan, format: str, options: ReadOptions, problems: Problems
) -> Dataset:
    """Read a table whose columns are known."""
    if plan.shape not in _READERS:
        raise TagfillError("not a table of labels", file=sheet.path)
    return _READERS[plan.shape](sheet, plan, format, options, problems)
