"""The entries of a wide table, and records of the same width."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tagfill.errors import Problems
from tagfill.labels.formats._blocks import Block, has_blocks, read_blocks
from tagfill.labels.formats._plan import Plan
from tagfill.labels.formats._sheet import Record, Sheet
from tagfill.labels.formats._ticks import (
    Kind,
    code_of,
    column_kind,
    is_image,
    is_sum,
    quoted,
    some,
    sums_possible,
)
from tagfill.labels.table import POSITIVE, UNKNOWN, Labels

_EXAMPLES = 3
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
    """

    filled: int = 0
    bad: int = 0
    examples: list[tuple[int | None, str]] = field(default_factory=list)
    words: set[str] = field(default_factory=set)

    def add(self, row: int | None, text: str, times: int = 1) -> None:
        """Count an entry that is no label."""
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
    def all_bad(self) -> bool:
        """Whether no entry is a label, or ratings and counts explain those that look like one."""
        return self.bad == self.filled or self.kind == "number"

    @property
    def no_labels(self) -> bool:
        """Whether the column is about something else: most of it is no label."""
        mostly = 2 * self.bad >= self.filled and not self.minus
        return mostly and (self.filled >= 5 or self.kind in ("date", "size", "image"))

    def __str__(self) -> str:
        values = "value" if self.bad == 1 else "values such as"
        return f"{self.bad:,} {values} {some(self.examples)}"


def read_entries(
    sheet: Sheet, plan: Plan, problems: Problems, *, blocks: bool = True
) -> tuple[Entries, list[Tally]]:
    """Read a wide table; also returns what each class column holds besides labels.

    Args:
        sheet: the table.
        plan: what its columns hold.
        problems: where records of another width are reported.
        blocks: read plain parts of a CSV at once; without it, all record by record, more slowly.
    """
    images: list[str] = []
    rows: list[int | None] = []
    splits: list[str] = []
    values = [np.empty((0, len(plan.labels)), dtype=np.int8)]
    tallies, widths = [Tally() for _ in plan.labels], _Widths(sheet, plan.image)
    skipped = SkippedRows(sheet, plan.image)
    whole = blocks and plan.folder is None and has_blocks(sheet)
    for part in read_blocks(sheet, plan) if whole else [sheet.records()]:
        block = part if isinstance(part, Block) else _careful(part, plan, widths, skipped, tallies)
        images += block.images
        rows += block.rows
        splits += block.splits
        values.append(block.values)
    skipped.report(problems)
    widths.report(problems)
    joined = np.concatenate(values)
    if any(tally.bad for tally in tallies):
        for tally, known in zip(tallies, np.count_nonzero(joined != UNKNOWN, axis=0), strict=True):
            tally.filled = int(known) + tally.bad
    return Entries(images, rows, splits, joined), tallies


def _careful(
    records: Iterator[Record],
    plan: Plan,
    widths: _Widths,
    skipped: SkippedRows,
    tallies: list[Tally],
) -> Block:
    """Read record by record, and count what is no label."""
    images, splits, rows, values = [], [], [], array("b")
    names = [widths.sheet.header[column].strip().lower() for column in plan.labels]
    for row, given in records:
        fields = None if skipped.has(row, given) else widths.even(row, given)
        if fields is None:
            continue
        rows.append(row)
        images.append(plan.image_of(fields))
        if plan.split is not None:
            splits.append(fields[plan.split])
        values.extend(_codes([fields[column] for column in plan.labels], names, row, tallies))
    shaped = np.array(values, dtype=np.int8).reshape(len(images), len(plan.labels))
    return Block(images, splits, shaped, rows)


def even_records(
    sheet: Sheet, problems: Problems, image: int, *, spread: str | None = None
) -> Iterator[Record]:
    """Records as wide as the header; others are errors, reported together, and left out.

    The header once more, as in files that were put together, and rows of sums are passed over.
    """
    widths, skipped = _Widths(sheet, None, spread), SkippedRows(sheet, image)
    for row, given in sheet.records():
        fields = None if skipped.has(row, given) else widths.even(row, given)
        if fields is not None:
            yield row, fields
    skipped.report(problems)
    widths.report(problems)


class SkippedRows:
    """Rows between or below the records that are none: the header again, sums, and legends.

    A legend follows blank rows in a table of image files, and names no image itself.
    """

    def __init__(self, sheet: Sheet, image: int) -> None:
        self.sheet, self.image = sheet, image
        self.header = [name.strip() for name in sheet.header]
        images = sheet.column(image)
        self.sums_possible = sums_possible(images)
        self.of_files = 2 * len(images) <= 3 * sum(map(is_image, images)) > 3
        self.last, self.below = 0, False
        self.again, self.sums, self.legend = Tally(), Tally(), Tally()

    def has(self, row: int, fields: Sequence[str]) -> bool:
        """Whether a row is no record; such rows are counted."""
        image = fields[self.image] if self.image < len(fields) else ""
        tally = self._kind(row, image, fields)
        if tally is not None:
            tally.add(row, image or "".join(fields))
        self.last = row
        return tally is not None

    def _kind(self, row: int, image: str, fields: Sequence[str]) -> Tally | None:
        same = self.sheet.header_row is not None and image.strip() == self.header[self.image]
        if same and [text.strip() for text in fields] == self.header:
            return self.again
        if self.sums_possible and is_sum(image):
            return self.sums
        after_gap = self.below or (0 < self.last < row - 1)
        self.below = self.of_files and after_gap and not is_image(image)
        return self.legend if self.below else None

    def report(self, problems: Problems) -> None:
        """Warn of the rows that were passed over."""
        for tally, what in (
            (self.again, "the header stands here again"),
            (self.sums, "{} is taken for a sum"),
            (self.legend, "{} stands below the table and names no image"),
        ):
            if tally.bad:
                row, text = tally.examples[0]
                problems.warn(
                    f"{what.format(quoted(text))} ({tally.bad:,} in all) and was passed over",
                    file=self.sheet.path,
                    row=row,
                )


class _Widths:
    """Makes records as wide as the header and counts those that cannot be.

    They are left out, or kept with their image id alone where ``image`` tells its column. Fields to
    spare that are empty are cut off, or joined to the last one with ``spread``; a table without
    header may have shorter records.
    """

    def __init__(self, sheet: Sheet, image: int | None, spread: str | None = None) -> None:
        self.sheet, self.image, self.spread = sheet, image, spread
        self.uneven, self.joined = Tally(), Tally()

    def even(self, row: int, fields: list[str]) -> list[str] | None:
        """The fields of a record, as many as the header has."""
        width = len(self.sheet.header)
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
        return None if self.image is None else _id_only(fields, self.image, width)

    def report(self, problems: Problems) -> None:
        """Say what was found."""
        if self.joined.bad:
            problems.warn(
                f"{self.joined.bad:,} rows have more fields than the header; they were taken as"
                " more tags",
                file=self.sheet.path,
                row=self.joined.examples[0][0],
            )
        if self.uneven.bad:
            fate = "left out" if self.image is None else "kept without labels"
            _report_uneven(self.uneven, self.sheet, fate, problems)


def _report_uneven(uneven: Tally, sheet: Sheet, fate: str, problems: Problems) -> None:
    (row, fields), several = uneven.examples[0], uneven.bad > 1
    rows = f"{uneven.bad:,} rows have other numbers of" if several else fields
    problems.error(
        f"{rows} fields where the header has {len(sheet.header)};"
        f" {'the rows were' if several else 'the row was'} {fate}",
        file=sheet.path,
        row=row,
        remedy="put quotes around fields with commas in them",
    )


def _codes(texts: list[str], names: list[str], row: int, tallies: list[Tally]) -> list[int]:
    """The labels of one record; the name of the class is a yes, too."""
    codes = [code_of(text) for text in texts]
    if None in codes:
        for number, code in enumerate(codes):
            if code is None and texts[number].strip().lower() == names[number]:
                codes[number] = POSITIVE
            elif code is None:
                tallies[number].add(row, texts[number])
    return [UNKNOWN if code is None else code for code in codes]


def _id_only(fields: list[str], image: int, width: int) -> list[str]:
    texts = [""] * width
    texts[image] = "".join(fields[image : image + 1])
    return texts
