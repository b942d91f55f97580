"""Which columns of a table hold what: by their names where these are usual, else by content."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tagfill.errors import TagfillError
from tagfill.labels.formats._merge import SPLITS, usual_split
from tagfill.labels.formats._names import (
    SCORE_NAMES,
    SPLIT,
    TAGS_NAMES,
    VALUE_NAMES,
    has_label_word,
    is_image_name,
    is_label_name,
    is_tags_name,
    may_number_rows,
    plain_name,
)
from tagfill.labels.formats._sheet import Sheet
from tagfill.labels.formats._tags import has_separator, split_tags
from tagfill.labels.formats._ticks import Kind, code_of, column_kind
from tagfill.labels.formats.base import ReadOptions
from tagfill.labels.table import NEGATIVE

WIDE, LONG, TAG_LIST, OPEN_IMAGES = "csv_wide", "csv_long", "tag_list", "open_images"
WIDE_ID = "image id"
"""Image column of our own wide files if a class looks like a tags column."""
_SPLIT_LIKE = {"set", "subset", "partition", "teilmenge", "aufteilung"}
_WORDY = 3.0
"""Sentences have more words than this."""


@dataclass(frozen=True)
class Plan:
    """What the columns of a table hold.

    Args:
        shape: name of the format: one column per class, one row per statement, or lists of tags.
        image: the column of image ids.
        labels: columns that may be classes (wide).
        tags: columns of tags (lists; in a long table the one column of labels).
        value: column of values (long).
        split: column of splits.
        left_out: columns that are none of these, and why.
        notes: decisions a user should see.
    """

    shape: str
    image: int
    labels: tuple[int, ...] = ()
    tags: tuple[int, ...] = ()
    value: int | None = None
    split: int | None = None
    left_out: dict[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def plan_columns(sheet: Sheet, options: ReadOptions, shape: str | None = None) -> Plan:
    """Decide what the columns of a table hold.

    Args:
        sheet: the table.
        options: columns the user named.
        shape: the format the user named; by default recognized from the columns.

    Raises:
        TagfillError: the columns do not fit the shape, or a column that was named is not there.
    """
    columns = _Columns(sheet, options)
    chosen = shape or columns.shape()
    if chosen == WIDE:
        return columns.wide()
    if chosen == LONG:
        return columns.long()
    if chosen == TAG_LIST:
        return columns.tag_list()
    return Plan(OPEN_IMAGES, columns.image)


def column_named(header: Sequence[str], name: str, sheet: Sheet) -> int:
    """The number of a column by its name, as spelled or nearly so, or by its place from 1."""
    plain = [plain_name(known) for known in header]
    for names, wanted in (
        ([known.strip() for known in header], name.strip()),
        (plain, plain_name(name)),
    ):
        if names.count(wanted) == 1:
            return names.index(wanted)
    if name.strip().isdecimal() and 1 <= int(name) <= len(header):
        return int(name) - 1
    listed = ", ".join(known.strip() for known in header)
    raise TagfillError(
        f"there is no column {name!r}", file=sheet.path, remedy=f"its columns: {listed}"
    )


class _Columns:
    """The columns of one table, analyzed by name and content."""

    def __init__(self, sheet: Sheet, options: ReadOptions) -> None:
        self.sheet, self.options, self.header = sheet, options, sheet.header
        self.named = sheet.header_row is not None
        self.left_out = self._without_content()
        for number in self._all_named(options.ignore_columns):
            self.left_out[number] = "as told"
        self.image = self._image()
        self.left_out.pop(self.image, None)
        others = [n for n in range(len(self.header)) if n != self.image and n not in self.left_out]
        self.split = next((n for n in others if self._is_split(n)), None)
        self.rest = [number for number in others if number != self.split]

    def _is_split(self, number: int) -> bool:
        """A column called split or similar, or without a name, of only the usual split names."""
        name = plain_name(self.header[number])
        if self.named and name not in _SPLIT_LIKE:
            return name == SPLIT
        texts = {usual_split(text) for text in self.sheet.column(number) if text.strip()}
        return bool(texts) and texts <= SPLITS

    @cached_property
    def kinds(self) -> list[Kind]:
        """What every column of the sample mostly holds."""
        return [column_kind(self.sheet.column(number)) for number in range(len(self.header))]

    def of_kind(self, *kinds: Kind) -> list[int]:
        """Columns that hold such things, image and split aside."""
        return [number for number in self.rest if self.kinds[number] in kinds]

    def _names(self, numbers: Iterable[int]) -> str:
        names = (self.header[number].strip() or f"column {number + 1}" for number in numbers)
        return ", ".join(map(repr, names))

    def _without_content(self) -> dict[int, str]:
        """Unnamed columns that are empty, and columns beside the images that number the rows."""
        dropped = {}
        images = any(map(is_image_name, self.header)) or "image" in self.kinds
        for number, name in enumerate(self.header):
            if name.strip() and not (images and may_number_rows(name)):
                continue
            texts = [text.strip() for text in self.sheet.column(number)]
            if not any(texts) and not name.strip():
                dropped[number] = "empty"
            elif ("2" in texts or not name.strip()) and texts in (
                [str(n + start) for n in range(len(texts))] for start in (0, 1)
            ):
                dropped[number] = "numbers of rows"
        return dropped

    def _image(self) -> int:
        """The column of image ids: named by the user, by a usual name, by content, or the first."""
        if self.options.image_column is not None:
            return column_named(self.header, self.options.image_column, self.sheet)
        usable = [n for n in range(len(self.header)) if n not in self.left_out] or [0]
        usual = [n for n in usable if is_image_name(self.header[n])]
        if usual:
            self._refuse_tables_side_by_side(usual)
            files = [n for n in usual if self.kinds[n] == "image"]
            texts = [n for n in usual if self.kinds[n] not in ("tick", "empty")]
            return self._least_repeated(files) if files else (texts or usual)[0]
        files = [n for n in usable if self.kinds[n] == "image"]
        if files:
            return self._least_repeated(files)
        return self._unique_text(usable)

    def _refuse_tables_side_by_side(self, images: Sequence[int]) -> None:
        first, *others = images
        for number in others:
            same = self.header[number].strip() == self.header[first].strip()
            if same and self.sheet.column(number) != self.sheet.column(first):
                raise TagfillError(
                    f"columns {first + 1} and {number + 1} are both called"
                    f" {self.header[first].strip()!r} and name different images",
                    file=self.sheet.path,
                    row=self.sheet.header_row,
                    remedy="put the rows of the second table below those of the first",
                )

    def _least_repeated(self, numbers: Sequence[int]) -> int:
        return max(numbers, key=lambda n: (len(set(self.sheet.column(n))), -n))

    def _unique_text(self, usable: Sequence[int]) -> int:
        """The first column, unless it has repeats and another column has none."""
        first = usable[0]
        texts = self.sheet.column(first)
        if len(set(texts)) == len(texts) and not any(map(has_separator, texts)):
            return first
        for number in usable[1:]:
            others = self.sheet.column(number)
            plain = self.kinds[number] == "text" and not any(map(has_separator, others))
            if plain and len(set(others)) == len(others) > 1:
                return number
        return first

    def shape(self) -> str | None:
        """The shape the columns announce."""
        names = [plain_name(name) for name in self.header]
        if self.options.tags_columns:
            return TAG_LIST
        if names[0] == "imageid" and {"labelname", "confidence"} <= set(names):
            return OPEN_IMAGES
        if not self.rest or self.header[self.image].strip() == WIDE_ID:
            return WIDE
        return self._shape_by_names() or self._shape_by_content()

    def _statements(self) -> tuple[list[int], list[int]]:
        """Columns that hold one tag per row, and those that say whether it is there."""
        single = [n for n in self.rest if is_label_name(self.header[n])]
        values = [n for n in self.rest if plain_name(self.header[n]) in VALUE_NAMES]
        scores = [n for n in self.rest if plain_name(self.header[n]) in SCORE_NAMES]
        values += scores if single and not values and len(scores) == 1 else []
        lists = [n for n in self.rest if is_tags_name(self.header[n])]
        says = len(values) == 1 and self.kinds[values[0]] in ("tick", "empty")
        if not single and len(lists) == 1 and says and not self._holds_lists(lists[0]):
            single = lists
        return single, values

    def _shape_by_names(self) -> str | None:
        single, values = self._statements()
        lists = [n for n in self.rest if is_tags_name(self.header[n]) and n not in single]
        if any(self.kinds[n] not in ("tick", "empty") for n in lists):
            return TAG_LIST
        plain = [n for n in lists if plain_name(self.header[n]) in TAGS_NAMES]
        if plain and (len(plain) == len(self.rest) or not self.of_kind("tick")):
            return TAG_LIST
        named = [n for n in self.of_kind("text") if has_label_word(self.header[n])]
        wide = len(self.of_kind("tick")) > 1
        if not single and not wide and len(named) == 1 and self._holds_lists(named[0]):
            return TAG_LIST
        exact = len(single) == 1 and len(self.rest) == 1 + len(values) <= 2
        if len(single) != 1 or (not exact and self.kinds[single[0]] == "tick"):
            return None
        if values:
            said = self.kinds[values[0]]
            scored = said == "number" and plain_name(self.header[values[0]]) in SCORE_NAMES
            fits = exact or said in ("tick", "empty") or scored
            return LONG if len(values) == 1 and fits else None
        if not exact and len(self.of_kind("tick")) > 1:
            return None
        return TAG_LIST if self._holds_lists(single[0]) else LONG

    def _holds_lists(self, number: int) -> bool:
        """Whether entries list several tags; commas count only if no image is repeated."""
        texts, images = self.sheet.column(number), self.sheet.column(self.image)
        marks = ";|," if len(set(images)) == len(images) else ";|"
        return any(has_separator(text, marks) for text in texts)

    def _shape_by_content(self) -> str:
        boxes = not self.named and self.of_kind("number") and self.of_kind("text")
        if self.of_kind("tick") and not boxes:
            return WIDE
        return TAG_LIST if self._lists_by_content() else WIDE

    def _lists_by_content(self) -> list[int]:
        texts = [n for n in self.of_kind("text") if not self._wordy(n)]
        if not self.named:
            return self.of_kind("text", "empty") if texts else []
        if len(texts) == 1 and (len(self.rest) == 1 or self._repeats(texts[0])):
            return texts
        slots = [n for n in texts if has_label_word(self.header[n])]
        if len(slots) > 1 and self._share_words(slots):
            return slots
        repeating = [n for n in texts if self._repeats(n)]
        return repeating if len(repeating) == 1 else []

    def _share_words(self, numbers: Sequence[int]) -> bool:
        """Whether columns hold the same tags: every one some of those of the others."""
        held = {
            n: {tag.lower() for t in self.sheet.column(n) for tag in split_tags(t)} for n in numbers
        }
        return all(
            held[n] & set().union(*(held[other] for other in numbers if other != n))
            for n in numbers
        )

    def _wordy(self, number: int) -> bool:
        tags = [tag for text in self.sheet.column(number) for tag in split_tags(text)]
        return bool(tags) and sum(len(tag.split()) for tag in tags) > _WORDY * len(tags)

    def _repeats(self, number: int) -> bool:
        tags = [tag.lower() for text in self.sheet.column(number) for tag in split_tags(text)]
        return len(tags) < 4 or len(set(tags)) < 0.7 * len(tags)

    def wide(self) -> Plan:
        """One column per class."""
        self._check_names()
        return Plan(
            WIDE, self.image, labels=tuple(self.rest), split=self.split, left_out=self.left_out
        )

    def long(self) -> Plan:
        """One row per statement."""
        single, values = self._statements()
        single = self._told() or single
        if len(single) != 1 or len(values) > 1:
            raise self._misfit("one column called label or class and at most one called value")
        used = {*single, *values}
        return Plan(
            LONG,
            self.image,
            tags=tuple(single),
            value=values[0] if values else None,
            split=self.split,
            left_out=self._and_rest(used),
            notes=tuple(self._doubts(used)),
        )

    def tag_list(self) -> Plan:
        """Tags in one column, or in several."""
        named = [n for n in self.rest if is_tags_name(self.header[n])]
        texts = [n for n in named if self.kinds[n] != "tick"]
        single = [n for n in self.rest if is_label_name(self.header[n])]
        worded = [n for n in self.of_kind("text") if has_label_word(self.header[n])]
        tags = self._told() or texts or named or (single if len(single) == 1 else [])
        tags = tags or (worded if len(worded) == 1 else [])
        tags = self._with_nameless(tags)
        notes = []
        if not tags:
            tags = self._lists_by_content()
            shown = self._names(tags) if self.named else "all columns after the image"
            notes = [f"tags are read from {shown}, judging by content (--tags-column)"]
        if not tags:
            raise self._misfit("a tags column, called tags or keywords or set with --tags-column")
        return Plan(
            TAG_LIST,
            self.image,
            tags=tuple(tags),
            split=self.split,
            left_out=self._and_rest(set(tags)),
            notes=(*notes, *self._doubts(set(tags))),
        )

    def _with_nameless(self, tags: list[int]) -> list[int]:
        """Tags columns with the nameless ones after each, as below a name that spans several."""
        if not self.named:
            return tags
        spanned = list(tags)
        for number in self.rest:
            follows = number - 1 in spanned and not self.header[number].strip()
            if follows and self.kinds[number] in ("text", "empty"):
                spanned.append(number)
        return sorted(set(spanned))

    def _told(self) -> list[int]:
        return self._all_named(self.options.tags_columns)

    def _all_named(self, names: Iterable[str]) -> list[int]:
        """Columns by name; one name may list several, separated by commas."""
        known = {name.strip() for name in self.header}
        single = [part for name in names for part in ([name] if name in known else name.split(","))]
        return [column_named(self.header, name, self.sheet) for name in single if name.strip()]

    def _and_rest(self, used: set[int]) -> dict[int, str]:
        unused = {n: "no tags" for n in self.rest if n not in used}
        return {**self.left_out, **unused}

    def _doubts(self, used: set[int]) -> list[str]:
        """A note on columns of yes and no that are not read as values of tags."""
        doubtful = [
            n
            for n in self.of_kind("tick")
            if n not in used and any(code_of(text) == NEGATIVE for text in self.sheet.column(n))
        ]
        if not doubtful or not self.named:
            return []
        return [
            f"{self._names(doubtful)}: yes and no were not read; if they say whether the tag of the"
            " row is present, call the column 'value'; if each column is a class, leave out"
            f" {self._names(used)} with --ignore-columns"
        ]

    def _misfit(self, needed: str) -> TagfillError:
        listed = self._names(range(len(self.header)))
        return TagfillError(
            f"the header needs image ids and {needed}; its columns: {listed}",
            file=self.sheet.path,
            row=self.sheet.header_row,
        )

    def _check_names(self) -> None:
        names = [name.strip() for name in self.header]
        first = {name: number for number, name in reversed(list(enumerate(names)))}
        for number in self.rest:
            if not names[number]:
                raise TagfillError(
                    f"column {number + 1} has no name",
                    file=self.sheet.path,
                    row=self.sheet.header_row,
                    remedy="name it, or skip it: --ignore-columns " + str(number + 1),
                )
            if first[names[number]] < number:
                raise TagfillError(
                    f"columns {first[names[number]] + 1} and {number + 1} are both called"
                    f" {names[number]!r}",
                    file=self.sheet.path,
                    row=self.sheet.header_row,
                )
