"""Tables of texts, from CSV files and spreadsheets alike: names of columns, records with rows."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from tagfill.errors import TagfillError, counted
from tagfill.files import without_guard
from tagfill.labels.formats._names import is_image_name
from tagfill.labels.formats._text import COLUMNS, TYPED, csv_records, head
from tagfill.labels.formats._ticks import code_of, is_image

Record = tuple[int, list[str]]
"""The row a record starts in (lines of a text file, rows of a spreadsheet), and its fields."""

SAMPLE = 500
"""Records read to determine what columns hold."""
MOST_COLUMNS = 200_000
_DELIMITERS = ",;\t|"
_AFTER_IMAGE = re.compile(rf"[^,;\t|:=>]+?\.\w{{3,4}}\"?(\s*:\s|\s+(?:{'|'.join(TYPED)})\s)")
"""An image and a colon or the like, as in a list people type."""
_LINED_UP = re.compile(r"\s*\S+(?: \S+)*\s{2,}\S.*\s*")
DRAWN = " \t\r\n:-+="
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
        above: what stands above the records: titles and the header, as they are in the file.
    """

    path: Path
    header: tuple[str, ...]
    header_row: int | None
    records: Callable[[], Iterator[Record]]
    sample: tuple[list[str], ...]
    notes: tuple[str, ...] = ()
    above: tuple[list[str], ...] = ()

    def column(self, number: int) -> list[str]:
        if self._columns:
            return self._columns[number]
        return [fields[number] for fields in self.sample if number < len(fields)]

    @cached_property
    def _columns(self) -> list[list[str]]:
        """All columns of the sample, where its records have as many fields as the header."""
        even = {len(fields) for fields in self.sample} == {len(self.header)}
        return [list(texts) for texts in zip(*self.sample, strict=True)] if even else []


def csv_sheet(path: Path) -> Sheet:
    mark = delimiter(head(path))
    if mark != " ":
        return make_sheet(path, lambda: csv_records(path, mark))
    return make_sheet(path, lambda: ((row, _trimmed(f)) for row, f in csv_records(path, mark)))


def _trimmed(fields: list[str]) -> list[str]:
    """Fields without the empty ones that blanks at the end of a line make."""
    while fields and not fields[-1]:
        fields.pop()
    return fields


def make_sheet(
    path: Path, rows: Callable[[], Iterator[Record]], notes: Sequence[str] = ()
) -> Sheet:
    """Find the header among the first rows; blank rows are skipped."""

    def filled() -> Iterator[Record]:
        return (record for record in rows() if is_filled(record[1]))

    first = list(islice(filled(), SAMPLE + _PREAMBLE))
    if not first:
        raise TagfillError("the file is empty", file=path)
    _refuse_many_columns(path, first)
    comments = _comments([fields for _, fields in first])
    table = [fields for _, fields in first[comments:]]
    above = _nameless_images(table)
    skipped = comments + (above - 1 if above else _preamble(table))
    if skipped:
        rows_above = counted(skipped, "row above the header was", "rows above the header were")
        notes = [*notes, f"{rows_above} skipped"]
    row, fields = first[skipped]
    if above:
        header, header_row, start = ["image", *fields], row, skipped + 1
        notes = [*notes, "the header has no name for the first column; it holds the images"]
    elif any(map(is_image, fields)) and not any(map(is_image_name, fields)):
        width = max(len(fields) for _, fields in first)
        header, header_row, start = [str(n + 1) for n in range(width)], None, skipped
    else:
        header, header_row, start = fields, row, skipped + 1
        second = first[start] if start < len(first) else (row, [])
        if _is_second_line(fields, second[1]):
            pairs = zip(fields, second[1], strict=True)
            header = [text if text.strip() else name for name, text in pairs]
            header_row, start = second[0], start + 1
            notes = [*notes, "the header has two lines; the names in the second one count"]
        elif _is_line_of_units(fields, second[1]):
            header_row, start = second[0], start + 1
            notes = [*notes, f"row {second[0]} names no image and was skipped: it holds units"]
    return Sheet(
        path=path,
        header=tuple(map(without_guard, header)),
        header_row=header_row,
        records=lambda: islice(filled(), start, None),
        sample=tuple(fields for _, fields in first[start : start + SAMPLE]),
        notes=tuple(notes),
        above=tuple(fields for _, fields in first[:start]),
    )


def _refuse_many_columns(path: Path, first: list[Record]) -> None:
    row, fields = max(first, key=lambda record: len(record[1]))
    if len(fields) > MOST_COLUMNS:
        raise TagfillError(
            f"has {len(fields):,} columns, more than {MOST_COLUMNS:,}",
            file=path,
            row=row,
            remedy="write one column with a list of tags",
        )


def is_filled(fields: Sequence[str]) -> bool:
    """Whether a record has content: more than blanks and the lines that Markdown and SQL draw."""
    return any(text.strip(DRAWN) for text in fields)


def _comments(first: list[list[str]]) -> int:
    """Number of rows on top that begin with # and are no header: images or their column follow."""
    count = next((n for n, fields in enumerate(first) if not _is_comment(fields)), len(first))
    below = first[count] if count < len(first) else []
    if any(map(is_image_name, below)):
        return count
    header = count > 0 and len(first[count - 1]) == len(below)
    return count - header if any(map(is_image, below)) else 0


def _is_comment(fields: list[str]) -> bool:
    return fields[0].lstrip().startswith("#") and not any(map(is_image_name, fields))


def _nameless_images(first: list[list[str]]) -> int:
    """Number of rows above the images if the last of them names all columns but the first.

    So write R's ``write.table`` and CelebA, the latter with the number of images on top.
    """
    above = next((n for n, fields in enumerate(first[:3]) if any(map(is_image, fields))), 0)
    header, below = first[above - 1], first[above : above + 2]
    fits = above > 0 and not any(map(is_image_name, header))
    one_more = all(len(f) == len(header) + 1 > 2 and is_image(f[0]) for f in below)
    return above if fits and one_more else 0


def _preamble(first: list[list[str]]) -> int:
    """Number of rows above a header with an image column: titles, and groups of columns."""
    for number, fields in enumerate(first[:_PREAMBLE]):
        if any(map(is_image, fields)):
            return 0
        named = next((n for n, text in enumerate(fields) if is_image_name(text)), None)
        filled = sum(bool(text.strip()) for text in fields)
        if named is not None and filled > 1:
            return number
        below = first[number + 1] if number + 1 < len(first) else []
        images = [place for place, text in enumerate(below) if is_image_name(text)]
        groups = images and not any("".join(fields[n : n + 1]).strip() for n in images)
        if filled > 1 and not groups:
            return 0
    return 0


def _is_second_line(header: list[str], below: list[str]) -> bool:
    """Whether a row completes a header in which some columns have no name, or share one."""
    if len(below) != len(header) or not any(map(is_image_name, header)):
        return False
    pairs = list(zip(header, below, strict=True))
    times = Counter(name.strip() for name in header)
    needed = [text for name, text in pairs if not name.strip() or times[name.strip()] > 1]
    return (
        any(text.strip() for text in needed)
        and all(not text.strip() for name, text in pairs if is_image_name(name))
        and all(code_of(text) is None for text in below if text.strip())
    )


def _is_line_of_units(header: list[str], below: list[str]) -> bool:
    """Whether a row says the same of several columns and names no image: ``(0/1)``."""
    said = [text.strip() for text in below if text.strip()]
    images = [text for name, text in zip(header, below, strict=False) if is_image_name(name)]
    same = len(said) > 1 and len(set(said)) == 1 and code_of(said[0]) is None
    return same and bool(images) and not any(map(str.strip, images))


def delimiter(text: str) -> str:
    """What separates the fields of a CSV.

    The mark that cuts the first lines into records of one width, with image names standing alone
    in a field where there are any; a comma where nothing speaks for another. In lists that people
    type, a colon or a blank after the name of the image.
    """
    lines = text.lstrip("\ufeff\r\n").splitlines(keepends=True)[: _LINES + 1]
    if not lines:
        return ","
    if lines[0].lower().startswith("sep=") and lines[0].strip()[4:]:
        return lines[0].strip()[4:][0]
    typed = [_AFTER_IMAGE.match(line) for line in lines if line.strip() and line[0] != "#"]
    marks = list({match[1].strip() for match in typed if match})
    if all(typed) and len(marks) == 1:
        return marks[0]
    titles = _titles(lines)
    lines = lines[titles:]
    marks = [mark for mark in _DELIMITERS if mark in lines[0]]
    if not marks and all(map(_LINED_UP.fullmatch, filter(str.strip, lines))):
        return COLUMNS
    if not marks and _in_blanks([line.split() for line in lines if line.strip()]):
        return " "
    return max(marks, key=lambda mark: (*_fit(lines, mark), -_DELIMITERS.index(mark)), default=",")


def _in_blanks(rows: list[list[str]]) -> bool:
    """Whether rows, below at most two of a header, begin with an image and a blank."""
    named = [is_image(fields[0].strip('"')) for fields in rows]
    return True in named[:3] and all(named[named.index(True) :])


def _titles(lines: list[str]) -> int:
    """How many lines stand above the table: comments, and titles above a column of images."""
    for number, line in enumerate(lines[:_PREAMBLE]):
        if any(mark in line for mark in _DELIMITERS):
            named = any(
                is_image_name(field.strip().strip('"'))
                for mark in _DELIMITERS
                for field in line.split(mark)
            )
            if named or not line.startswith("#"):
                commented = all(above.startswith("#") for above in lines[:number])
                return number if named or commented else 0
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
