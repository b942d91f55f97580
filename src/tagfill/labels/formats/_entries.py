"""The entries of a wide table: fast where the file is clean, careful where something is wrong.

Both ways accept exactly the texts of ``TICKS``.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.csv

from tagfill.errors import Problems
from tagfill.files import without_guard
from tagfill.labels.formats._encoding import UTF8, encoding_of
from tagfill.labels.formats._ids import odd_ids
from tagfill.labels.formats._plan import Plan
from tagfill.labels.formats._sheet import Record, Sheet, delimiter
from tagfill.labels.formats._text import head
from tagfill.labels.formats._ticks import Kind, code_of, column_kind, some
from tagfill.labels.table import UNKNOWN, Labels

_BLOCK = 1 << 22
_EXAMPLES = 3


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
    def few_words(self) -> bool:
        """Whether few words repeat often, as labels in an unknown code would."""
        return self.kind == "text" and len(self.words) <= _EXAMPLES < self.bad

    @property
    def all_bad(self) -> bool:
        """Whether no entry is a label, or ratings and counts explain those that look like one."""
        return self.bad == self.filled or self.kind == "number"

    @property
    def no_labels(self) -> bool:
        """Whether the column is about something else: most of it is no label."""
        mostly = 2 * self.bad >= self.filled
        return mostly and (self.filled >= 5 or self.kind in ("date", "size", "image"))

    def __str__(self) -> str:
        values = "value" if self.bad == 1 else "values such as"
        return f"{self.bad:,} {values} {some(self.examples)}"


def read_fast(sheet: Sheet, plan: Plan) -> Entries | None:
    """Read a clean CSV with pyarrow; ``None`` where anything in it needs a closer look."""
    if sheet.header_row != 1 or encoding_of(sheet.path) != UTF8:
        return None
    if len({name.strip() for name in sheet.header}) != len(sheet.header):
        return None
    try:
        entries = _read_columns(sheet, plan)
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    if entries is None or len(odd_ids(entries.images)):
        return None
    plain = not any(image.startswith("'") for image in entries.images)
    return entries if plain and len(set(entries.images)) == len(entries.images) else None


def _read_columns(sheet: Sheet, plan: Plan) -> Entries | None:
    """Read block by block, so that only the labels of the whole file are held."""
    words = pa.dictionary(pa.int32(), pa.string())
    types = dict.fromkeys(sheet.header, pa.string())
    types |= {sheet.header[column]: words for column in plan.labels}
    images: list[str] = []
    splits: list[str] = []
    blocks = []
    with pa.csv.open_csv(
        sheet.path,
        read_options=pa.csv.ReadOptions(block_size=_BLOCK),
        parse_options=pa.csv.ParseOptions(
            delimiter=delimiter(head(sheet.path)), newlines_in_values=True
        ),
        convert_options=pa.csv.ConvertOptions(column_types=types, strings_can_be_null=False),
    ) as reader:
        for batch in reader:
            block = _codes_of_block(batch, plan.labels, len(sheet.header))
            if block is None:
                return None
            blocks.append(block)
            images += batch.column(plan.image).to_pylist()
            splits += [] if plan.split is None else batch.column(plan.split).to_pylist()
    values = np.concatenate(blocks) if blocks else np.empty((0, len(plan.labels)), dtype=np.int8)
    return Entries(images, range(2, len(images) + 2), splits, values)


def _codes_of_block(batch: pa.RecordBatch, labels: Sequence[int], width: int) -> Labels | None:
    if batch.num_columns != width:
        return None
    values = np.empty((len(batch), len(labels)), dtype=np.int8)
    for number, column in enumerate(labels):
        entries = batch.column(column)
        codes = [code_of(word) for word in entries.dictionary.to_pylist()]
        if None in codes or entries.null_count:
            return None
        values[:, number] = np.array(codes, dtype=np.int8)[entries.indices.to_numpy()]
    return values


def read_careful(sheet: Sheet, plan: Plan, problems: Problems) -> tuple[Entries, list[Tally]]:
    """Read record by record; also returns what each class column holds besides labels."""
    images: list[str] = []
    rows: list[int | None] = []
    splits: list[str] = []
    values = array("b")
    tallies = [Tally() for _ in plan.labels]
    for row, fields in even_records(sheet, plan.image, problems):
        rows.append(row)
        images.append(without_guard(fields[plan.image]))
        if plan.split is not None:
            splits.append(fields[plan.split])
        values.extend(_codes([fields[column] for column in plan.labels], row, tallies))
    shaped = np.array(values, dtype=np.int8).reshape(len(images), len(plan.labels))
    for tally, column in zip(tallies, shaped.T, strict=True):
        tally.filled += int((column != UNKNOWN).sum()) + tally.bad
    return Entries(images, rows, splits, shaped), tallies


def even_records(
    sheet: Sheet, image: int | None, problems: Problems, *, spread: str | None = None
) -> Iterator[Record]:
    """Records as wide as the header.

    Others are errors, reported together; they are left out, or kept with their image id alone
    where ``image`` tells its column. Fields to spare that are empty are cut off, or joined to the
    last one with ``spread``; a table without header may have shorter records.
    """
    width = len(sheet.header)
    uneven, joined = Tally(), Tally()
    for row, fields in sheet.records():
        if len(fields) > width and not any(text.strip() for text in fields[width:]):
            fields = fields[:width]
        elif len(fields) > width and spread is not None:
            joined.add(row, str(len(fields)))
            fields = [*fields[: width - 1], spread.join(fields[width - 1 :])]
        elif len(fields) < width and sheet.header_row is None:
            fields = fields + [""] * (width - len(fields))
        if len(fields) != width:
            uneven.add(row, str(len(fields)))
            if image is None:
                continue
            fields = _id_only(fields, image, width)
        yield row, fields
    if joined.bad:
        problems.warn(
            f"{joined.bad:,} rows have more fields than the header; they were taken as more tags",
            file=sheet.path,
            row=joined.examples[0][0],
        )
    if uneven.bad:
        _report_uneven(
            uneven, sheet, "left out" if image is None else "kept without labels", problems
        )


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


def _codes(texts: list[str], row: int, tallies: list[Tally]) -> list[int]:
    codes = [code_of(text) for text in texts]
    if None in codes:
        for number, code in enumerate(codes):
            if code is None:
                tallies[number].add(row, texts[number])
    return [UNKNOWN if code is None else code for code in codes]


def _id_only(fields: list[str], image: int, width: int) -> list[str]:
    texts = [""] * width
    texts[image] = "".join(fields[image : image + 1])
    return texts
