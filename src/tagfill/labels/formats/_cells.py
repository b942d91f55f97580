"""The size of a spreadsheet before it is read: a few bytes can ask for billions of cells."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tagfill.errors import TagfillError

MOST_BYTES = 1 << 30
"""A file that unpacks to more than this is refused."""
MOST_CELLS = 30_000_000
"""As well as one whose used area has more cells."""
_PIECE = 1 << 20
_UNREADABLE = (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error)
_PLACE = re.compile(rb"<(?:\w+:)?(?:c|row)\b[^>]*?\br=[\"']([A-Z]{0,3})([0-9]{1,7})[\"']")
_ODS = re.compile(rb"<table:(table|table-row|(?:covered-)?table-cell)(?=[\s/>])([^>]*)>")
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
    """Rows times columns up to the last cell."""
    rows = columns = 0
    for piece in _pieces(file):
        for letters, row in _PLACE.findall(piece):
            rows, columns = max(rows, int(row)), max(columns, _column(letters))
    return rows * columns


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _ods_cells(file: IO[bytes]) -> int:
    """Rows times columns of the largest table, up to the last row and cell that is not empty."""
    largest = rows = columns = width = 0
    for piece in _pieces(file):
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
