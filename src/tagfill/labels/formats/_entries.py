"""The entries of a wide table, and records of the same width."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO

import numpy as np

from tagfill.labels.formats._blocks import WORD, Block, Cutter, blocks_of_lines
from tagfill.labels.formats._plan import Plan
from tagfill.labels.formats._rows import EvenRecords, Tally
from tagfill.labels.formats._sheet import DRAWN, Record, Sheet, delimiter, is_filled
from tagfill.labels.formats._text import (
    TYPED,
    UTF8,
    encoding_of,
    has_single_quotes,
    head,
    records_of,
)
from tagfill.labels.formats._ticks import any_sum, code_of, is_image
from tagfill.labels.formats.base import Source
from tagfill.labels.table import POSITIVE, UNKNOWN, Labels

_ODD_IMAGE = re.compile(rf"\n(?:['#]|[{re.escape(DRAWN)}]*(?:\n|\Z))")
"""A row whose image is missing, in quotes, or a comment."""


@dataclass(frozen=True)
class Entries:
    """What was read: id, row and split of each record, values [records, K]."""

    images: Sequence[str]
    rows: Sequence[int | None]
    splits: Sequence[str]
    values: Labels


def read_entries(
    source: Source, sheet: Sheet, plan: Plan, *, quick: bool = True
) -> tuple[Entries, list[Tally]]:
    """Read a wide table; also returns what each class column holds besides labels.

    Args:
        source: where records of another width are reported.
        sheet: the table.
        plan: what its columns hold.
        quick: read plain text in large blocks; without it, all record by record, more slowly.
    """
    reader = _WideReader(sheet, plan)
    blocks = [Entries([], [], [], np.empty((0, len(plan.labels)), dtype=np.int8))]
    simple = plan.folder is None and not plan.status and not plan.removed
    if quick and simple and _is_plain(sheet):
        blocks += reader.blocks()
    else:
        blocks.append(reader.block(sheet.records()))
    reader.records.report(source)
    values = np.concatenate([block.values for block in blocks])
    if any(tally.bad for tally in reader.tallies):
        known = np.count_nonzero(values != UNKNOWN, axis=0)
        for tally, count in zip(reader.tallies, known.tolist(), strict=True):
            tally.filled = count + tally.bad
    images, rows, splits = (
        list(chain.from_iterable(parts))
        for parts in zip(
            *((block.images, block.rows, block.splits) for block in blocks), strict=True
        )
    )
    return Entries(images, rows, splits, values), reader.tallies


class _WideReader:
    def __init__(self, sheet: Sheet, plan: Plan) -> None:
        self.sheet, self.plan = sheet, plan
        self.records = EvenRecords(sheet, plan.image, plan.rejects, keep_images=True)
        self.tallies = [Tally() for _ in plan.labels]
        self.names = [sheet.header[column].strip().lower() for column in plan.labels]
        self.row = 1
        self.mark = delimiter(head(sheet.path))
        self.cutter = Cutter(self.mark, len(sheet.header))
        self.header_image = sheet.header[plan.image]

    def block(self, records: Iterable[Record]) -> Entries:
        images, splits, rows, values = [], [], [], array("b")
        for row, fields in self.records.even(records):
            rows.append(row)
            images.append(self.plan.image_of(fields))
            if self.plan.split is not None:
                splits.append(fields[self.plan.split])
            values.extend(self._codes([fields[column] for column in self.plan.labels], row))
        shaped = np.array(values, dtype=np.int8).reshape(len(images), len(self.plan.labels))
        return Entries(images, rows, splits, shaped)

    def _codes(self, texts: list[str], row: int) -> list[int]:
        """The labels of one record; the name of the class is a yes, too."""
        codes = [code_of(text) for text in texts]
        if None in codes:
            for number, code in enumerate(codes):
                if code is None and texts[number].strip().lower() == self.names[number]:
                    codes[number] = POSITIVE
                elif code is None:
                    self.tallies[number].add(row, texts[number])
        return [UNKNOWN if code is None else code for code in codes]

    def blocks(self) -> Iterator[Entries]:
        """Read blocks of lines at once, those with faults record by record."""
        with self.sheet.path.open("rb") as file:
            list(self._records(file.readline(), file))  # the header
            for lines in blocks_of_lines(file):
                block = self._plain_block(lines)
                yield block or self.block(self._records(lines, file))

    def _records(self, lines: bytes, file: BinaryIO) -> Iterator[Record]:
        """The records of some lines; the last one may continue in the file."""
        end = self.row + len(lines.splitlines())

        def texts() -> Iterator[str]:
            for line in chain(lines.splitlines(keepends=True), file):
                self.row += 1
                yield line.decode("utf-8-sig")

        for row, fields in records_of(texts(), self.mark, self.sheet.path, self.row):
            if is_filled(fields):
                yield row, fields
            if self.row >= end:
                return

    def _plain_block(self, lines: bytes) -> Entries | None:
        """The records of some lines, read at once; ``None`` if one of them needs a closer look."""
        after_gap = self.records.below or 0 < self.records.last < self.row - 1
        block = None if after_gap else self.cutter.cut(lines)
        if block is None:
            return None
        images = block.texts(self.plan.image)
        text = "\n".join(["", *images])
        if self.header_image in images or _ODD_IMAGE.search(text):
            return None
        if self.records.of_files and " " in text and not all(map(_may_be_image, images)):
            return None
        if self.records.sums_possible and any_sum(images):
            return None
        values = self.cutter.codes(block, self.plan.labels)
        if not self._resolve_words(block, values):
            return None
        splits = [] if self.plan.split is None else block.texts(self.plan.split)
        rows = range(self.row, self.row + len(images))
        self.row += len(images)
        self.records.last = self.row - 1
        return Entries(images, rows, splits, values)

    def _resolve_words(self, block: Block, values: Labels) -> bool:
        """Replace words by the labels they state; false if one is the name of its class."""
        rows, columns = np.nonzero(values == WORD)
        if not len(rows):
            return True
        words, numbers = block.words(rows * block.width + np.array(self.plan.labels)[columns])
        known = [WORD if (code := code_of(word)) is None else code for word in words]
        codes = np.array(known, dtype=np.int8)[numbers]
        bad = np.flatnonzero(codes == WORD)
        places = (part[bad].tolist() for part in (rows, columns, numbers))
        faults = [(row, column, words[number]) for row, column, number in zip(*places, strict=True)]
        if any(word.strip().lower() == self.names[column] for _, column, word in faults):
            return False
        for row, column, word in faults:
            self.tallies[column].add(self.row + row, word)
        codes[bad] = UNKNOWN
        values[rows, columns] = codes
        return True


def _may_be_image(text: str) -> bool:
    """Whether a text in a table of image files is no note."""
    return " " not in text or is_image(text)


def _is_plain(sheet: Sheet) -> bool:
    """Whether a table is a text file in UTF-8 with usual line ends and a header on top."""
    if sheet.header_row != 1 or encoding_of(sheet.path) != UTF8:
        return False
    mark = delimiter(head(sheet.path))
    if len(mark) > 1 or mark in (" ", *TYPED) or has_single_quotes(sheet.path, mark):
        return False
    with sheet.path.open("rb") as file:
        return not any(
            b"\0" in lines or (b"\r" in lines and lines.count(b"\r") != lines.count(b"\r\n"))
            for lines in blocks_of_lines(file)
        )
