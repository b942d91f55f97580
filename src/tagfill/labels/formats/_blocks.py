"""Blocks of lines of a large CSV, cut at all delimiters at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tagfill.labels.formats._ticks import code_of
from tagfill.labels.table import UNKNOWN, Labels

BYTES = 1 << 18
"""Text that is read at a time: what is made of it fits the processor's cache."""
WORD = 2
"""In place of the label of an entry that has several letters, or is no label."""
_LINE_END = ord("\n")


def blocks_of_lines(file: BinaryIO) -> Iterator[bytes]:
    while lines := file.read(BYTES):
        yield lines if lines.endswith(b"\n") else lines + file.readline()


@dataclass(frozen=True)
class Block:
    """The entries of some lines, all of the same width.

    Args:
        text: a line end, and the lines.
        marks: the place of what stands before each entry, and at last of the line end.
        width: how many entries a line has.
    """

    text: bytes
    marks: npt.NDArray[np.int32]
    width: int

    def __len__(self) -> int:
        return len(self.marks) // self.width

    def texts(self, column: int) -> list[str]:
        """A column's entries, without blanks before them."""
        starts = (self.marks[column : -1 : self.width] + 1).tolist()
        ends = self.marks[column + 1 :: self.width].tolist()
        if self.text.isascii():
            letters = self.text.decode()
            texts = [letters[a:b] for a, b in zip(starts, ends, strict=True)]
        else:
            texts = [self.text[a:b].decode() for a, b in zip(starts, ends, strict=True)]
        indented = any(text.startswith(" ") for text in texts)
        return [text.lstrip(" ") for text in texts] if indented else texts

    def words(self, places: npt.NDArray[np.intp]) -> tuple[list[str], npt.NDArray[np.int32]]:
        """The different texts of some entries, and which of them each is."""
        buffers = [None, pa.py_buffer(self.marks), pa.py_buffer(self.text)]
        entries = pa.BinaryArray.from_buffers(pa.binary(), len(self.marks) - 1, buffers)
        # pa.array would import pandas, which takes longer than reading
        chosen = pa.Array.from_buffers(pa.int64(), len(places), [None, pa.py_buffer(places)])
        found = entries.take(chosen).dictionary_encode()
        words = [word[1:].decode().lstrip(" ") for word in found.dictionary.to_pylist()]
        return words, found.indices.to_numpy()


class Cutter:
    """Cuts lines into entries.

    Args:
        mark: the delimiter, one letter.
        width: how many entries a line should have.
    """

    def __init__(self, mark: str, width: int) -> None:
        self._width = width
        escaped = re.escape(mark)
        field = rf'(?:^|{escaped})"[^"\n{escaped}]*"(?={escaped}|\r?\n|\Z)'
        self._quoted = re.compile(field.encode(), re.MULTILINE)
        letters = list(map(chr, range(256)))
        self._is_mark = np.array([letter in ("\n", mark) for letter in letters])
        codes = [WORD if (code := code_of(letter)) is None else code for letter in letters]
        self._code_of = np.where(self._is_mark, UNKNOWN, codes).astype(np.int8)

    def cut(self, lines: bytes) -> Block | None:
        """The entries of some lines; ``None`` if lines are uneven or quoted entries hold marks."""
        quotes = lines.count(b'"')
        if quotes and quotes != 2 * len(self._quoted.findall(lines)):
            return None
        text = b"\n" + (lines.replace(b'"', b"") if quotes else lines).replace(b"\r\n", b"\n")
        text += b"" if text.endswith(b"\n") else b"\n"
        letters = np.frombuffer(text, np.uint8)
        marks = np.flatnonzero(self._is_mark[letters]).astype(np.int32)
        around = letters[marks[:: self._width]]  # what stands before and behind each line
        even = len(marks) % self._width == 1 % self._width and (around == _LINE_END).all()
        whole = even and text.count(b"\n") == len(around)
        return Block(text, marks, self._width) if whole else None

    def codes(self, block: Block, columns: Sequence[int]) -> Labels:
        """The labels of single letters and empty entries in some columns, elsewhere ``WORD``."""
        last = np.frombuffer(block.text, np.uint8)[block.marks[1:] - 1]
        codes = self._code_of[last]
        codes[np.diff(block.marks) > 2] = WORD
        values: Labels = codes.reshape(-1, block.width)[:, list(columns)]
        return values
