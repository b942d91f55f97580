"""Wide CSV files in blocks of lines: plain ones are split with numpy, others record by record.

A block is plain where every line has as many fields as the header, quotes enclose whole fields
without quotes or delimiters in them, and every entry is a label. Both ways accept exactly the
texts of ``TICKS``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from tagfill.labels.formats._plan import Plan
from tagfill.labels.formats._sheet import Record, Sheet, delimiter, is_filled
from tagfill.labels.formats._text import (
    COLUMNS,
    TYPED,
    UTF8,
    encoding_of,
    has_single_quotes,
    head,
    records_of,
)
from tagfill.labels.formats._ticks import code_of, is_sum, sums_possible
from tagfill.labels.table import UNKNOWN, Labels, Rows

_BYTES = 1 << 20
_LONGEST_WORD = 32
_MOST_WORDS = 20
"""Most different label words in a block; with more, they are hardly labels."""
_LONGEST_FIELD = 1 << 17
"""Limit of the csv module."""
_MARK = b"\xef\xbb\xbf"
_QUOTE, _NEWLINE = ord('"'), ord("\n")
_ODD = ("", "'")
"""First characters of ids that are missing or quoted for spreadsheets."""
_NO_LABEL = 2

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Block:
    """Records that were read: id and split of each, values [records, K], and their rows."""

    images: list[str]
    splits: list[str]
    values: Labels
    rows: Sequence[int]


def has_blocks(sheet: Sheet) -> bool:
    """Whether a table is a text file in UTF-8 with usual line ends and a header on top."""
    if sheet.header_row != 1 or encoding_of(sheet.path) != UTF8:
        return False
    mark = delimiter(head(sheet.path))
    if mark in (*TYPED, COLUMNS) or has_single_quotes(sheet.path, mark):
        return False
    with sheet.path.open("rb") as file:
        return not any(
            b"\0" in lines or lines.count(b"\r") != lines.count(b"\r\n") for lines in _lines(file)
        )


def read_blocks(sheet: Sheet, plan: Plan) -> Iterator[Block | Iterator[Record]]:
    """The plain blocks of a table, and between them the records of others, to be read in turn."""
    mark = delimiter(head(sheet.path))
    sums = sums_possible(sheet.column(plan.image))
    with sheet.path.open("rb") as file:
        if file.read(len(_MARK)) != _MARK:
            file.seek(0)
        reader = _Reader(sheet, mark, file)
        for _ in reader.records(file.readline()):
            pass  # the header
        for lines in _lines(file):
            block = _plain(lines, ord(mark), plan, len(sheet.header), reader.line)
            if block is None or (sums and any(map(is_sum, block.images))):
                yield reader.records(lines)
            else:
                reader.line += len(block.images)
                yield block


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The rest of a file, some whole lines at a time."""
    while lines := file.read(_BYTES):
        yield lines if lines.endswith(b"\n") else lines + file.readline()


@dataclass
class _Reader:
    """Reads blocks record by record and counts lines; a record may continue past its block."""

    sheet: Sheet
    mark: str
    file: BinaryIO
    line: int = 1

    def records(self, lines: bytes) -> Iterator[Record]:
        left = len(lines.splitlines())

        def texts() -> Iterator[str]:
            nonlocal left
            for text in lines.splitlines(keepends=True):
                left -= 1
                self.line += 1
                yield text.decode()
            for text in self.file:
                self.line += 1
                yield text.decode()

        for row, fields in records_of(texts(), self.mark, self.sheet.path, self.line):
            if is_filled(fields):
                yield row, fields
            if not left:
                return


def _plain(lines: bytes, mark: int, plan: Plan, width: int, row: int) -> Block | None:
    """The records of a block of lines; ``None`` if the block needs the slow path."""
    text = lines.replace(b"\r\n", b"\n")
    if not text.endswith(b"\n"):
        text += b"\n"
    letters = np.frombuffer(text, np.uint8)
    breaks = np.flatnonzero((letters == mark) | (letters == _NEWLINE)).astype(np.int32)
    if len(breaks) != width * text.count(b"\n"):
        return None
    ends = breaks.reshape(-1, width)
    starts = np.concatenate([breaks[:1] * 0, breaks[:-1] + 1]).reshape(-1, width)
    if (letters[ends[:, -1]] != _NEWLINE).any():
        return None
    if b'"' in text and not _unwrap(letters, starts, ends):
        return None
    sizes = ends - starts
    values = _codes(text, mark, starts, sizes, plan.labels)
    if values is None or sizes.max() >= _LONGEST_FIELD:
        return None
    images = _texts(text, starts[:, plan.image], ends[:, plan.image])
    if any(image[:1] in _ODD or image.isspace() for image in images):
        return None
    splits = []
    if plan.split is not None:
        splits = _texts(text, starts[:, plan.split], ends[:, plan.split])
    return Block(images, splits, values, range(row, row + len(images)))


def _unwrap(letters: Bytes, starts: Places, ends: Places) -> bool:
    """Strip the quotes around whole fields; False if there are other quotes."""
    opened, closed = letters[starts] == _QUOTE, letters[ends - 1] == _QUOTE
    wrapped = opened & closed & (ends - starts > 1)
    starts += wrapped
    ends -= wrapped
    return int((letters == _QUOTE).sum()) == 2 * int(wrapped.sum())


@lru_cache
def _letters(mark: int) -> bytes:
    """Labels of one-letter entries; an empty entry starts at its own end."""
    empty = {mark, _QUOTE, _NEWLINE}
    codes = [UNKNOWN if number in empty else code_of(chr(number)) for number in range(128)]
    return bytes(_NO_LABEL if code is None else code % 256 for code in codes + [None] * 128)


def _codes(
    text: bytes, mark: int, starts: Places, sizes: Places, columns: Sequence[int]
) -> Labels | None:
    """[records, K] labels; ``None`` if an entry is not a label."""
    starts, sizes = (np.take(part, columns, axis=1) for part in (starts, sizes))
    values = np.frombuffer(text.translate(_letters(mark)), np.int8).take(starts)
    long = np.flatnonzero(sizes > 1)
    sizes, places = sizes.ravel()[long], starts.ravel()[long]
    for size in np.unique(sizes).tolist():
        alike = sizes == size
        if size > _LONGEST_WORD or not _spell(
            text, values.ravel(), long[alike], places[alike], size
        ):
            return None
    return None if (values == _NO_LABEL).any() else values


def _spell(text: bytes, values: Labels, entries: Rows, places: Places, size: int) -> bool:
    """Set the codes of entries that are words of one length; False if one is not a label."""
    letters = np.frombuffer(text, np.uint8)
    words = letters[places[:, None] + np.arange(size)].view(f"S{size}")[:, 0]
    for _ in range(_MOST_WORDS):
        if not len(entries):
            return True
        code = code_of(bytes(words[0]).decode())
        if code is None:
            return False
        same = words == words[0]
        values[entries[same]] = code
        entries, words = entries[~same], words[~same]
    return not len(entries)


def _texts(text: bytes, starts: Places, ends: Places) -> list[str]:
    pairs = zip(starts.tolist(), ends.tolist(), strict=True)
    if text.isascii():
        plain = text.decode("ascii")
        return [plain[start:end] for start, end in pairs]
    return [text[start:end].decode() for start, end in pairs]
