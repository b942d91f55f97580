"""Spreadsheets (.xlsx, .xls, .ods) and tables of web pages, in any shape that a CSV may have."""

from __future__ import annotations

import datetime
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path
from typing import IO, Any

from tagfill.errors import TagfillError
from tagfill.labels.formats._edit import edit_table
from tagfill.labels.formats._names import is_image_name
from tagfill.labels.formats._sheet import Record, Sheet, make_sheet
from tagfill.labels.formats._text import head, read_text
from tagfill.labels.formats._ticks import is_image
from tagfill.labels.formats.base import Format
from tagfill.labels.formats.csv_tables import read_sheet

MOST_BYTES = 1 << 30
"""A file that unpacks to more than this is refused."""
MOST_CELLS = 10_000_000
"""As well as one whose used area has more cells, which take about 1 GB of memory."""
MOST_BLANKS = 100_000_000
"""Or that asks for more blanks: OpenDocument writes only their number."""
_PIECE = 1 << 20
_UNREADABLE = (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error)
_PLACE = re.compile(rb"<(?:\w+:)?(row|c)(?=[\s/>])(?:[^>]*?\sr\s*=\s*[\"']([A-Za-z]*)([0-9]*))?")
_BEYOND = 10**9
"""A row or column with more digits or letters than any program writes."""
_ODS = re.compile(rb"<table:(table|table-row|(?:covered-)?table-cell)(?=[\s/>])([^>]*)>")
_BLANKS = re.compile(rb"text:c\s*=\s*[\"']([0-9]+)")
_REPEATED = re.compile(rb"table:number-(?:rows|columns)-repeated=[\"']([0-9]{1,18})[\"']")


def refuse_bombs(path: Path) -> None:
    """Refuse a spreadsheet that would not fit into the memory; it is unpacked once, in pieces.

    Raises:
        TagfillError: it is too large, or what it states about its size is not true.
    """
    if not zipfile.is_zipfile(path):
        return
    cells = 0
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            if size > MOST_BYTES:
                raise TagfillError(f"unpacks to {size:,} bytes, too many to read", file=path)
            if any(entry.flag_bits & 1 for entry in archive.infolist()):
                raise ValueError("it is encrypted")
            for entry in archive.infolist():
                count = _ods_cells if entry.filename == "content.xml" else _xlsx_cells
                with archive.open(entry) as file:  # a sheet of .xlsx may have any name
                    cells = max(cells, count(file))
    except _UNREADABLE as error:
        raise TagfillError(f"not readable as a spreadsheet ({error})", file=path) from None
    if cells > MOST_CELLS:
        raise TagfillError(
            f"its used area has {cells:,} cells, too many to read",
            file=path,
            remedy="delete what is far below or right of the table, or save it as CSV",
        )


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    """The content in pieces that end between two tags."""
    rest = b""
    while piece := file.read(_PIECE):
        piece = rest + piece
        cut = max(piece.rfind(b"<"), 0)
        if len(piece) - cut > 4 * _PIECE:
            raise ValueError("a text or tag of several megabytes")
        rest = piece[cut:]
        yield piece[:cut]
    yield rest


def _xlsx_cells(file: IO[bytes]) -> int:
    """Rows times columns up to the last cell; one without a place follows the one before."""
    rows = columns = row = column = 0
    for piece in _pieces(file):
        for name, letters, digits in _PLACE.findall(piece):
            if digits:
                row = int(digits) if len(digits) < 8 else _BEYOND
            elif name == b"row":
                row += 1
            column = 0 if name == b"row" else _column(letters) if letters else column + 1
            rows, columns = max(rows, row), max(columns, column)
        if rows * columns > MOST_CELLS:
            break
    return rows * columns


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters.upper() if len(letters) < 4 else b"":
        number = 26 * number + letter - 64
    return number or _BEYOND


def _ods_cells(file: IO[bytes]) -> int:
    """Rows times columns of the largest table, up to the last row and cell that is not empty."""
    largest = rows = columns = width = blanks = 0
    for piece in _pieces(file):
        blanks += sum(int(number[:18]) for number in _BLANKS.findall(piece))
        if blanks > MOST_BLANKS:
            raise ValueError(f"{blanks:,} blanks")
        for name, attributes in _ODS.findall(piece):
            count = int((_REPEATED.search(attributes) or (0, b"1"))[1])
            if name == b"table":
                rows = columns = 0
            elif name == b"table-row":
                rows, width = rows + count, 0
            else:
                width += count
                if not attributes.endswith(b"/") or b"office:" in attributes:
                    columns = max(columns, width)
                    largest = max(largest, columns * rows)
    return largest


Rows = list[list[str]]

_CELLS = ("td", "th")


def has_tables(path: Path) -> bool:
    """Whether a file is a web page with a table."""
    text = head(path).lstrip("\ufeff \t\r\n")
    return text.startswith("<") and "<table" in text.lower()


class _Tables(HTMLParser):
    """Collects the rows of all tables in a web page; one inside another belongs to it."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[Rows] = []
        self.depth = 0
        self.in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.depth += 1
            if self.depth == 1:
                self.tables.append([])
        if self.depth != 1:
            return
        rows = self.tables[-1]
        if tag == "tr":
            rows.append([])
        elif tag in _CELLS and rows:
            width = dict(attrs).get("colspan") or "1"
            rows[-1] += [""] * (min(int(width), 100) if width.isdecimal() else 1)
            self.in_cell = True
        elif tag == "br" and self.in_cell:
            rows[-1][-1] += "\n"

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self.depth = max(self.depth - 1, 0)
        if tag in (*_CELLS, "tr", "table"):
            self.in_cell = False

    def handle_data(self, data: str) -> None:
        if self.in_cell:
            self.tables[-1][-1][-1] += data


_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP = b"PK\x03\x04"
_PARTS = ("xl/workbook.xml", "xl/workbook.bin")
_OPEN_DOCUMENT = b"application/vnd.oasis.opendocument.spreadsheet"
_LOOKED_AT = 20


def _detect(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(8)
    if start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return has_tables(path)
    return start == _OLD_OFFICE or (start.startswith(_ZIP) and _is_workbook(path))


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if "mimetype" in names and archive.getinfo("mimetype").file_size < 100:
                return archive.read("mimetype").strip() == _OPEN_DOCUMENT
            return any(part in names for part in _PARTS)
    except (OSError, zipfile.BadZipFile, ValueError, RuntimeError, NotImplementedError):
        return path.suffix.lower() in (".xlsx", ".ods")


def open_spreadsheet(path: Path) -> Sheet:
    """The first sheet of a file that lists images, and all others with the same header.

    Where no sheet lists images it is the first one that is not empty.
    """
    sheets, hidden = _sheets(path)
    filled = {name: rows for name, rows in sheets.items() if any(map(any, rows))}
    if not filled:
        raise TagfillError("all sheets are empty", file=path)
    name = next((name for name, rows in filled.items() if _lists_images(rows)), next(iter(filled)))
    header = _header(filled[name])
    same = [other for other in filled if _header(filled[other]) == header]
    joined = [other for other in same if other == name or other not in hidden]
    rest = [other for other in filled if other not in joined]
    notes = []
    if len(joined) > 1:
        notes.append(f"sheets {_listed(joined)} have the same columns and were read together")
    elif rest:
        notes.append(f"sheet {name!r} was read")
    if rest:
        notes.append(f"sheets that were not read: {_listed(rest)}")

    def records() -> Iterator[Record]:
        yield from enumerate(filled[joined[0]], 1)
        for other in joined[1:]:
            first = next(n for n, row in enumerate(filled[other]) if any(row))
            yield from islice(enumerate(filled[other], 1), first + 1, None)

    return make_sheet(path, records, notes)


def _header(rows: Sequence[Sequence[str]]) -> list[str]:
    return [text.strip() for text in next(filter(any, rows))]


def _lists_images(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a sheet has an image column, by its name or by what it holds."""
    return any(
        is_image(text) or (is_image_name(text) and sum(map(bool, row)) > 1)
        for row in islice(filter(any, rows), _LOOKED_AT)
        for text in row
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _sheets(path: Path) -> tuple[dict[str, list[list[str]]], set[str]]:
    """The rows of all sheets, hidden ones last, and the names of these."""
    from python_calamine import CalamineError, CalamineWorkbook

    if has_tables(path):
        parser = _Tables()
        parser.feed(read_text(path))
        parser.close()
        return {f"table {n}": rows for n, rows in enumerate(parser.tables, 1)}, set()
    refuse_bombs(path)
    try:
        workbook = CalamineWorkbook.from_path(str(path))
        metadata = workbook.sheets_metadata
        hidden = {sheet.name for sheet in metadata if not str(sheet.visible).endswith(".Visible")}
        names = sorted((sheet.name for sheet in metadata), key=hidden.__contains__)
        return {name: _rows(workbook.get_sheet_by_name(name)) for name in names}, hidden
    except CalamineError as error:
        raise TagfillError(f"not readable as a spreadsheet ({error})", file=path) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what a panic in the library's core becomes
            raise
        raise TagfillError("not readable as a spreadsheet (it is damaged)", file=path) from None


def _rows(sheet: Any) -> list[list[str]]:
    """The texts of a sheet, with those of merged cells below the header in all their rows."""
    rows = [[_text(value) for value in row] for row in sheet.to_python(skip_empty_area=False)]
    header = next((n for n, row in enumerate(rows) if any(map(is_image_name, row))), len(rows))
    for (first, column), (last, _) in getattr(sheet, "merged_cell_ranges", None) or ():
        for row in rows[first + 1 : last + 1] if first > header else ():
            if column < len(row):  # a range may lie beyond all cells
                row[column] = rows[first][column]
    return rows


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.date | datetime.time):
        return (
            value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else value.isoformat()
        )
    return str(value)


FORMAT = Format(
    "spreadsheet",
    "Excel and OpenDocument spreadsheets: .xlsx, .xls, .ods; tables of web pages",
    _detect,
    lambda source: read_sheet(source, open_spreadsheet(source.path)),
    edit=lambda edit, out: edit_table(edit, out, open_spreadsheet(edit.source.path)),
)
