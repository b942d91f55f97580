"""Text files as people make them: heads for detection, CSV records with honest line numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from tagfill.errors import TagfillError

ID_NAMES = ("image", "file_name", "filename", "path", "image_id", "image_name")
"""Names of the column or key that holds the image id."""
SPLIT = "split"
LABEL_NAMES = ("label", "class")
TAGS_NAMES = ("tags", "labels")

_HEAD = 1 << 20
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_TO_UTF8 = "save it as UTF-8, for example: iconv -f latin1 -t utf-8 OLD > NEW"


def head(path: Path) -> str:
    """The first megabyte of a text file, without byte order mark; '' for folders and binaries."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        raw = file.read(_HEAD)
    if raw.startswith(_UTF16_MARKS):
        raise TagfillError("the file is UTF-16 text", file=path, remedy="save it as UTF-8")
    if b"\0" in raw or raw.startswith(b"PAR1"):
        return ""
    return raw.decode("utf-8-sig", errors="replace")


def csv_kind(path: Path) -> str | None:
    """Which of the CSV formats a file's header announces; ``None`` where it is no CSV at all."""
    text = head(path)
    if not text.strip() or text.lstrip()[0] in "[{":
        return None
    rows = csv.reader(io.StringIO(text), delimiter=delimiter(text))
    try:
        return header_kind(next(row for row in rows if row))
    except csv.Error:
        return None


def header_kind(header: Sequence[str]) -> str | None:
    """The CSV format of a header, ``None`` where it is none."""
    names = [name.strip().lower() for name in header]
    if names[0] == "imageid" and {"labelname", "confidence"} <= set(names):
        return "open_images"
    if len([name for name in names if name in ID_NAMES]) == 1:
        rest = sorted(name for name in names if name not in (*ID_NAMES, SPLIT))
        if rest in [[name] for name in TAGS_NAMES]:
            return "tag_list"
        if rest in [[name, *more] for name in LABEL_NAMES for more in ([], ["value"])]:
            return "csv_long"
    return "csv_wide" if len(names) > 1 or names[0] in ID_NAMES else None


def delimiter(text: str) -> str:
    """What separates the fields: a comma, or the tab or semicolon of a header without commas."""
    header = text.lstrip("\r\n").split("\n", 1)[0]
    return next((mark for mark in ",\t;" if mark in header), ",")


def id_column(header: Sequence[str]) -> int:
    """Number of the column with the image ids: one with a usual name, or else the first."""
    names = [name.strip().lower() for name in header]
    if "image" in names[0]:
        return 0
    return next((number for number, name in enumerate(names) if name in ID_NAMES), 0)


def csv_records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The records of a CSV file, header included, each with the line on which it starts.

    Raises:
        TagfillError: the file is not UTF-8, or a quote in it is never closed.
    """
    separator = delimiter(head(path))
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=separator)
        line = 1
        try:
            for fields in reader:
                if fields:
                    yield line, fields
                line = reader.line_num + 1
        except UnicodeDecodeError:
            raise encoding_error(path) from None
        except csv.Error as error:
            raise TagfillError(
                f"not readable as CSV ({error})",
                file=path,
                row=line,
                remedy="is a quote opened there and never closed?",
            ) from None


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The non-blank lines of a UTF-8 file with their numbers."""
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        try:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
        except UnicodeDecodeError:
            raise encoding_error(path) from None


def encoding_error(path: Path) -> TagfillError:
    """Where a file stops being UTF-8."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                byte = line[error.start]
                return TagfillError(
                    f"the text is not UTF-8 (byte 0x{byte:02x})",
                    file=path,
                    row=number,
                    remedy=_TO_UTF8,
                )
    return TagfillError("the text is not UTF-8", file=path, remedy=_TO_UTF8)
