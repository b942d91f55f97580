"""Records of a table, all as wide as its header, and what its columns hold besides labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tagfill.labels.formats._sheet import Record, Sheet
from tagfill.labels.formats._ticks import (
    ColumnKind,
    column_kind,
    examples_text,
    is_image,
    is_sum,
    quoted,
    sums_possible,
)
from tagfill.labels.formats.base import Source

_EXAMPLES = 3
_ROW_COUNT = re.compile(r"\(?\d+ rows?(?: in set.*|\))", re.IGNORECASE)
"""What databases write below a table."""
_MINUS = {"-1", "-1.0", "-", "--", "\N{EN DASH}", "\N{EM DASH}"}


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
    def kind(self) -> ColumnKind:
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


def _lowered(fields: Iterable[str]) -> list[str]:
    return [text.strip().lower() for text in fields]


def _note(fields: Iterable[str]) -> str:
    """The text of a row that holds nothing else, and is not the name of a file."""
    filled = [text.strip() for text in fields if text.strip()]
    return filled[0] if len(filled) == 1 and not is_image(filled[0]) else ""


class EvenRecords:
    """Makes records as wide as the header, and passes over rows that are no records.

    Such rows are the header once more, as in files that were put together, comments with #, rows
    of sums, and legends: a legend follows blank rows in a table of image files, and names none.
    There, several words that stand alone in a row are a comment, too.
    Records of another width are left out, or kept with their image alone. Fields to spare that are
    empty are cut off; a table without header may have shorter records.

    Args:
        sheet: the table.
        image: the column of images.
        rejects: whether somebody rejected what a row says.
        keep_images: whether records of another width are kept with their image alone.
        spread: what joins fields to spare to the last one.
    """

    def __init__(
        self,
        sheet: Sheet,
        image: int,
        rejects: Callable[[Sequence[str]], bool] = lambda fields: False,
        *,
        keep_images: bool = False,
        spread: str | None = None,
    ) -> None:
        self.sheet, self.image, self.keep_images, self.spread = sheet, image, keep_images, spread
        self.rejects = rejects
        self.header = [name.strip() for name in sheet.header]
        images = sheet.column(image)
        self.sums_possible = sums_possible(images)
        self.of_files = 2 * len(images) <= 3 * sum(map(is_image, images)) > 3
        self.last, self.below = 0, False
        self.again, self.sums, self.legend, self.comments = Tally(), Tally(), Tally(), Tally()
        self.uneven, self.joined, self.rejected = Tally(), Tally(), Tally()

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
        note = _note(fields) if self.of_files else ""
        alone = note == image.strip() and len(fields) == len(self.header)
        if note.startswith("#") or (alone and " " in note):
            return self.comments
        if self.sums_possible and (is_sum(image) or _ROW_COUNT.fullmatch("".join(fields).strip())):
            return self.sums
        if self.rejects(fields):
            return self.rejected
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
            (self.rejected, "what this row says of {} was rejected, or is a model's"),
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
