"""The entries of a wide table, and records of the same width."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from tagfill.labels.formats._plan import Plan
from tagfill.labels.formats._sheet import Record, Sheet, delimiter, is_filled
from tagfill.labels.formats._text import (
    TYPED,
    UTF8,
    encoding_of,
    has_single_quotes,
    head,
    records_of,
)
from tagfill.labels.formats._ticks import (
    Kind,
    any_sum,
    code_of,
    column_kind,
    examples_text,
    is_image,
    is_sum,
    quoted,
    sums_possible,
)
from tagfill.labels.formats.base import Source
from tagfill.labels.table import POSITIVE, UNKNOWN, Labels

_BYTES = 1 << 21
"""Text that is read at a time."""
_EXAMPLES = 3
_ROW_COUNT = re.compile(r"\(?\d+ rows?(?: in set.*|\))", re.IGNORECASE)
"""What databases write below a table."""
_MINUS = {"-1", "-1.0", "-", "--", "\N{EN DASH}", "\N{EM DASH}"}


@dataclass(frozen=True)
class Entries:
    """What was read: id, row and split of each record, values [records, K]."""

    images: Sequence[str]
    rows: Sequence[int | None]
    splits: Sequence[str]
    values: Labels


@dataclass
class Tally:
    """What one column holds besides labels.

    Args:
        filled: entries that say something.
        bad: entries that are no label.
        examples: the first of them, with their rows.
        words: some of the different ones.
        beside_zero: whether the table has 0, too.
    """

    filled: int = 0
    bad: int = 0
    examples: list[tuple[int | None, str]] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    beside_zero: bool = False

    def add(self, row: int | None, text: str, times: int = 1) -> None:
        self.bad += times
        if len(self.examples) < _EXAMPLES and text not in self.words:
            self.examples.append((row, text.strip()))
        if len(self.words) < 50:
            self.words.add(text)

    @property
    def kind(self) -> Kind:
        """What kind of things the entries that are no labels are."""
        return column_kind(self.words)

    @property
    def minus(self) -> bool:
        """Whether all are -1 or a dash, which some write for absent and others for unknown."""
        return {text.strip() for text in self.words} <= _MINUS

    @property
    def few_words(self) -> bool:
        """Whether few words repeat often, as labels in an unknown code would."""
        return self.kind == "text" and len(self.words) <= _EXAMPLES < self.bad

    @property
    def like_tags(self) -> bool:
        """Whether they are words that repeat, as tags and attributes do."""
        return self.kind == "text" and 1 < 2 * len(self.words) <= self.bad

    @property
    def no_labels(self) -> bool:
        """Whether the column is about something else: most of it is no label."""
        mostly = 2 * self.bad >= self.filled and not self.minus
        return mostly and (self.filled >= 5 or self.kind in ("date", "size", "image"))

    def __str__(self) -> str:
        values = "value" if self.bad == 1 else "values such as"
        return f"{self.bad:,} {values} {examples_text(self.examples)}"


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
    if quick and plan.folder is None and _is_plain(sheet):
        blocks += reader.blocks()
    else:
        blocks.append(reader.block(sheet.records()))
    reader.records.report(source)
    values = np.concatenate([block.values for block in blocks])
    if any(tally.bad for tally in reader.tallies):
        known = np.count_nonzero(values != UNKNOWN, axis=0)
        for tally, count in zip(reader.tallies, known.tolist(), strict=True):
            tally.filled = count + tally.bad
    images = [image for block in blocks for image in block.images]
    rows = [row for block in blocks for row in block.rows]
    splits = [split for block in blocks for split in block.splits]
    return Entries(images, rows, splits, values), reader.tallies


class _WideReader:
    def __init__(self, sheet: Sheet, plan: Plan) -> None:
        self.sheet, self.plan = sheet, plan
        self.records = EvenRecords(sheet, plan.image, keep_images=True)
        self.tallies = [Tally() for _ in plan.labels]
        self.names = [sheet.header[column].strip().lower() for column in plan.labels]
        self.row = 1
        self.mark = delimiter(head(sheet.path))
        mark = re.escape(self.mark)
        field = rf'(?:^|{mark})"[^"\n{mark}]*"(?={mark}|\r?\n|\Z)'
        self.quoted_field = re.compile(field.encode(), re.MULTILINE)

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
            for lines in _blocks_of_lines(file):
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
        """The records of some lines; ``None`` if one of them is not an image with labels."""
        names = list(map(str, range(len(self.sheet.header))))
        words = pa.dictionary(pa.int32(), pa.string())
        types = dict.fromkeys(names, pa.string()) | {names[n]: words for n in self.plan.labels}
        try:
            table = pa.csv.read_csv(
                pa.BufferReader(lines),
                pa.csv.ReadOptions(block_size=len(lines) + 1, column_names=names, use_threads=True),
                pa.csv.ParseOptions(delimiter=self.mark, ignore_empty_lines=False),
                pa.csv.ConvertOptions(column_types=types),
            )
        except pa.ArrowInvalid:
            return None
        quotes = lines.count(b'"')
        if quotes and quotes != 2 * len(self.quoted_field.findall(lines)):
            return None
        if len(table) != lines.count(b"\n") + (not lines.endswith(b"\n")):
            return None
        images = [image.lstrip(" ") for image in table.column(self.plan.image).to_pylist()]
        if any(not image.strip() or image[0] in "'#" for image in images):
            return None
        if self.records.sums_possible and any_sum(images):
            return None
        values = np.empty((len(images), len(self.plan.labels)), dtype=np.int8)
        for number, column in enumerate(self.plan.labels):
            entries = table.column(column).chunk(0)
            codes = [code_of(word) for word in entries.dictionary.to_pylist()]
            if None in codes:
                return None
            values[:, number] = np.array(codes, dtype=np.int8)[_numbers(entries.indices)]
        split = self.plan.split
        splits = [] if split is None else table.column(split).to_pylist()
        rows = range(self.row, self.row + len(images))
        self.row += len(images)
        self.records.last = self.row - 1
        return Entries(images, rows, splits, values)


def _numbers(whole: pa.Int32Array) -> npt.NDArray[np.int32]:
    """An array without nulls; its ``to_numpy`` would import pandas, a quarter of a second."""
    return np.frombuffer(whole.buffers()[1], np.int32, len(whole), 4 * whole.offset)


def _blocks_of_lines(file: BinaryIO) -> Iterator[bytes]:
    while lines := file.read(_BYTES):
        yield lines if lines.endswith(b"\n") else lines + file.readline()


def _is_plain(sheet: Sheet) -> bool:
    """Whether a table is a text file in UTF-8 with usual line ends and a header on top."""
    if sheet.header_row != 1 or encoding_of(sheet.path) != UTF8:
        return False
    mark = delimiter(head(sheet.path))
    if len(mark) > 1 or mark in TYPED or has_single_quotes(sheet.path, mark):
        return False
    with sheet.path.open("rb") as file:
        return not any(
            b"\0" in lines or lines.count(b"\r") != lines.count(b"\r\n")
            for lines in _blocks_of_lines(file)
        )


def _lowered(fields: Iterable[str]) -> list[str]:
    return [text.strip().lower() for text in fields]


def _is_note(fields: Iterable[str]) -> bool:
    """Whether a row is nothing but a text behind #."""
    filled = [text.strip() for text in fields if text.strip()]
    return len(filled) == 1 and filled[0].startswith("#") and not is_image(filled[0])


class EvenRecords:
    """Makes records as wide as the header, and passes over rows that are no records.

    Such rows are the header once more, as in files that were put together, comments with #, rows
    of sums, and legends: a legend follows blank rows in a table of image files, and names none.
    Records of another width are left out, or kept with their image alone. Fields to spare that are
    empty are cut off; a table without header may have shorter records.

    Args:
        sheet: the table.
        image: the column of images.
        keep_images: whether records of another width are kept with their image alone.
        spread: what joins fields to spare to the last one.
    """

    def __init__(
        self, sheet: Sheet, image: int, *, keep_images: bool = False, spread: str | None = None
    ) -> None:
        self.sheet, self.image, self.keep_images, self.spread = sheet, image, keep_images, spread
        self.header = [name.strip() for name in sheet.header]
        images = sheet.column(image)
        self.sums_possible = sums_possible(images)
        self.of_files = 2 * len(images) <= 3 * sum(map(is_image, images)) > 3
        self.last, self.below = 0, False
        self.again, self.sums, self.legend, self.comments = Tally(), Tally(), Tally(), Tally()
        self.uneven, self.joined = Tally(), Tally()

    def even(self, records: Iterable[Record]) -> Iterator[Record]:
        for row, given in records:
            fields = None if self.passes_over(row, given) else self._even(row, given)
            if fields is not None:
                yield row, fields

    def passes_over(self, row: int, fields: Sequence[str]) -> bool:
        """Whether a row is no record; such rows are counted."""
        image = fields[self.image] if self.image < len(fields) else ""
        tally = self._kind(row, image, fields)
        if tally is not None:
            tally.add(row, image or "".join(fields))
        self.last = row
        return tally is not None

    def _kind(self, row: int, image: str, fields: Sequence[str]) -> Tally | None:
        named = self.header[self.image].lower() if self.sheet.header_row is not None else None
        if image.strip().lower() == named and _lowered(fields) == _lowered(self.header):
            return self.again
        if self.of_files and _is_note(fields):
            return self.comments
        if self.sums_possible and (is_sum(image) or _ROW_COUNT.fullmatch("".join(fields).strip())):
            return self.sums
        after_gap = self.below or (0 < self.last < row - 1)
        self.below = self.of_files and after_gap and not is_image(image)
        return self.legend if self.below else None

    def _even(self, row: int, fields: list[str]) -> list[str] | None:
        width = len(self.header)
        if len(fields) > width and not any(text.strip() for text in fields[width:]):
            fields = fields[:width]
        elif len(fields) > width and self.spread is not None:
            self.joined.add(row, str(len(fields)))
            fields = [*fields[: width - 1], self.spread.join(fields[width - 1 :])]
        elif len(fields) < width and self.sheet.header_row is None:
            fields = fields + [""] * (width - len(fields))
        if len(fields) == width:
            return fields
        self.uneven.add(row, str(len(fields)))
        if not self.keep_images:
            return None
        alone = [""] * width
        alone[self.image] = "".join(fields[self.image : self.image + 1])
        return alone

    def report(self, source: Source) -> None:
        for tally, what in (
            (self.again, "the header stands here again"),
            (self.comments, "{} is a comment"),
            (self.sums, "{} is taken for a sum"),
            (self.legend, "{} stands below the table and names no image"),
        ):
            if tally.bad:
                row, text = tally.examples[0]
                what = what.format(quoted(text))
                source.warn(f"{what} ({tally.bad:,} in all) and was passed over", row)
        if self.joined.bad:
            joined = f"{self.joined.bad:,} rows have more fields than the header"
            source.warn(f"{joined}; they were taken as more tags", self.joined.examples[0][0])
        if self.uneven.bad:
            (row, count), several = self.uneven.examples[0], self.uneven.bad > 1
            rows = f"{self.uneven.bad:,} rows have other numbers of" if several else count
            source.error(
                f"{rows} fields where the header has {len(self.header)};"
                f" {'the rows were' if several else 'the row was'}"
                f" {'kept without labels' if self.keep_images else 'left out'}",
                row,
                remedy="put quotes around fields with commas in them",
            )
