"""Tables of texts, from CSV files and spreadsheets alike: names of columns, records with rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from tagfill.errors import TagfillError
from tagfill.labels.formats._names import is_image_name
from tagfill.labels.formats._text import csv_records, head
from tagfill.labels.formats._ticks import is_image

Record = tuple[int, list[str]]
"""The row a record starts in (lines of a text file, rows of a spreadsheet), and its fields."""

SAMPLE = 500
"""Records read to determine what columns hold."""
_DELIMITERS = ",;\t|"
_LINES = 50
_PREAMBLE = 10


@dataclass(frozen=True)
class Sheet:
    """One table.

    Args:
        path: the file it comes from.
        header: names of the columns; numbers where the file has no header.
        header_row: row of the header; ``None`` if there is none.
        records: starts over at the first record below the header.
        sample: fields of the first records.
        notes: decisions a user should see.
        above: records above the header, such as a title.
    """

    path: Path
    header: tuple[str, ...]
    header_row: int | None
    records: Callable[[], Iterator[Record]]
    sample: tuple[list[str], ...]
    notes: tuple[str, ...] = ()
    above: tuple[list[str], ...] = ()

    def column(self, number: int) -> list[str]:
        """A column of the sample."""
        if self._columns:
            return self._columns[number]
        return [fields[number] for fields in self.sample if number < len(fields)]

    @cached_property
    def _columns(self) -> list[list[str]]:
        """All columns of the sample, where its records have as many fields as the header."""
        even = {len(fields) for fields in self.sample} == {len(self.header)}
        return [list(texts) for texts in zip(*self.sample, strict=True)] if even else []


def csv_sheet(path: Path) -> Sheet:
    """The table of a CSV file."""
    mark = delimiter(head(path))
    return make_sheet(path, lambda: csv_records(path, mark))


def make_sheet(
    path: Path, rows: Callable[[], Iterator[Record]], notes: Sequence[str] = ()
) -> Sheet:
    """Find the header among the first rows; blank rows are skipped."""

    def filled() -> Iterator[Record]:
        return (record for record in rows() if is_filled(record[1]))

    first = list(islice(filled(), SAMPLE + _PREAMBLE))
    if not first:
        raise TagfillError("the file is empty", file=path)
    skipped = _preamble([fields for _, fields in first])
    if skipped:
        notes = [*notes, f"{skipped} rows above the header were skipped"]
    row, fields = first[skipped]
    if any(map(is_image, fields)) and not any(map(is_image_name, fields)):
        width = max(len(fields) for _, fields in first)
        header, header_row, start = [str(n + 1) for n in range(width)], None, skipped
    else:
        header, header_row, start = fields, row, skipped + 1
    return Sheet(
        path=path,
        header=tuple(header),
        header_row=header_row,
        records=lambda: islice(filled(), start, None),
        sample=tuple(fields for _, fields in first[start : start + SAMPLE]),
        notes=tuple(notes),
        above=tuple(fields for _, fields in first[:skipped]),
    )


def is_filled(fields: Sequence[str]) -> bool:
    """Whether a record has content."""
    return any(text.strip() for text in fields)


def _preamble(first: list[list[str]]) -> int:
    """Number of one-field title rows above a header with an image column."""
    for number, fields in enumerate(first[:_PREAMBLE]):
        if sum(bool(text.strip()) for text in fields) > 1:
            return number if any(map(is_image_name, fields)) else 0
    return 0


def delimiter(text: str) -> str:
    """What separates the fields of a CSV.

    The mark that cuts the first lines into records of one width, with image names standing alone
    in a field where there are any; a comma where nothing speaks for another.
    """
    lines = text.lstrip("\ufeff\r\n").splitlines(keepends=True)[: _LINES + 1]
    if not lines:
        return ","
    if lines[0].lower().startswith("sep=") and lines[0].strip()[4:]:
        return lines[0].strip()[4:][0]
    titles = _titles(lines)
    lines = lines[titles:]
    marks = [mark for mark in _DELIMITERS if mark in lines[0]]
    return max(marks, key=lambda mark: (*_fit(lines, mark), -_DELIMITERS.index(mark)), default=",")


def _titles(lines: list[str]) -> int:
    """How many lines above the first that names an image column have no mark that separates."""
    for number, line in enumerate(lines[:_PREAMBLE]):
        if any(mark in line for mark in _DELIMITERS):
            named = any(
                is_image_name(field.strip().strip('"'))
                for mark in _DELIMITERS
                for field in line.split(mark)
            )
            return number if named else 0
    return 0


def _fit(lines: list[str], mark: str) -> tuple[bool, float, float]:
    """How well a separator splits lines: header names, clean image names, equal widths."""
    try:
        records = list(csv.reader(io.StringIO("".join(lines)), delimiter=mark))
    except csv.Error:
        return False, 0.0, 0.0
    records = [fields for fields in records if any(fields)]
    if not records or len(records[0]) < 2:
        return False, 0.0, 0.0
    width = len(records[0])
    named = any(map(is_image_name, records[0]))
    images = sum(any(map(is_image, fields)) for fields in records) / len(records)
    return named, images, sum(len(fields) == width for fields in records) / len(records)
