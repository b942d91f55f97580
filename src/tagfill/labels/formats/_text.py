"""Text files: heads for detection, CSV records with their line numbers."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from tagfill.errors import TagfillError
from tagfill.labels.formats._encoding import UTF8, encoding_error, encoding_of
from tagfill.labels.formats._ticks import is_image

_HEAD = 1 << 20
TYPED = (":", "->", "-", "=>", "=", "–", "—", "→")  # noqa: RUF001
"""Marks after the image in lists that people type, as in ``a.jpg -> cat, dog``."""

COLUMNS = "  "
"""Blanks that line up columns."""
_BULLET = re.compile(r"\A\s*(?:[-*•]|\d+[.)])\s+")


def open_text(path: Path, newline: str | None = None) -> IO[str]:
    """Open a text file in the encoding it has."""
    return path.open(encoding=encoding_of(path) or UTF8, newline=newline)


def head(path: Path) -> str:
    """The first megabyte of a text file, without byte order mark; '' for folders and binaries."""
    if not path.is_file() or encoding_of(path) is None:
        return ""
    with open_text(path, newline="") as file:
        return file.read(_HEAD)


def read_text(path: Path) -> str:
    """All of a text file.

    Raises:
        TagfillError: its bytes are no text.
    """
    if encoding_of(path) is None:
        raise TagfillError("is not a text file", file=path)
    with open_text(path) as file:
        return file.read()


def csv_records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a CSV file, header included, each with the line on which it starts.

    Raises:
        TagfillError: a quote in it is never closed, or its text cannot be decoded.
    """
    quote = "'" if has_single_quotes(path, delimiter) else '"'
    if delimiter in TYPED:
        after = re.compile(rf"\s{'*' if delimiter == ':' else '+'}{delimiter}\s+")
        for row, line in text_lines(path):
            fields = after.split(_BULLET.sub("", line), maxsplit=1)
            yield row, [text.strip().strip('"') for text in fields]
        return
    if delimiter == COLUMNS:
        yield from ((row, re.split(r"\s{2,}", line.strip())) for row, line in text_lines(path))
        return
    with open_text(path, newline="") as file:
        yield from records_of(file, delimiter, path, quote=quote)


def has_single_quotes(path: Path, delimiter: str) -> bool:
    """Whether the names in the header are in single quotes, as databases write them."""
    names = head(path).lstrip().split("\n", 1)[0].rstrip().split(delimiter)
    return len(names) > 1 and all(re.fullmatch(r"\s*'[^']*'\s*", name) for name in names)


def records_of(
    lines: Iterable[str], delimiter: str, path: Path, line: int = 1, quote: str = '"'
) -> Iterator[tuple[int, list[str]]]:
    """The records of some lines of a CSV file, of which the first has the given number."""
    consumed: list[str] = []

    def watched() -> Iterator[str]:
        for text in lines:
            consumed.append(text)
            yield text

    reader = csv.reader(watched(), delimiter=delimiter, quotechar=quote, skipinitialspace=True)
    before = line
    try:
        for fields in reader:
            if len(consumed) > 1 and _swallowed(consumed, delimiter):
                raise csv.Error("a text in quotes runs on over other rows")
            consumed.clear()
            if fields and not (line == 1 and _is_hint(fields, delimiter)):
                yield line, fields
            line = before + reader.line_num
    except UnicodeDecodeError:
        raise encoding_error(path) from None
    except csv.Error as error:
        raise TagfillError(
            f"not readable as CSV ({error})",
            file=path,
            row=line,
            remedy="is a quote opened there and never closed?",
        ) from None


def _swallowed(lines: Sequence[str], delimiter: str) -> bool:
    """Whether a record of several lines holds others, since a quote in it is never closed."""
    for text in lines[1:]:
        image, mark, _ = text.partition(delimiter)
        if mark and is_image(image):
            return True
    try:
        list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        return "end of data" in str(error)
    return False


def _is_hint(fields: list[str], delimiter: str) -> bool:
    """Whether a line is the ``sep=;`` that tells Excel the delimiter."""
    return delimiter.join(fields).lower() == f"sep={delimiter}"


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The non-blank lines of a text file with their numbers."""
    with open_text(path, newline="\n") as file:
        try:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
        except UnicodeDecodeError:
            raise encoding_error(path) from None
