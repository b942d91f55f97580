"""Which columns of a table hold what: by their names where these are usual, else by content."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import compress
from operator import eq
from pathlib import Path
from typing import Any

from tagfill.errors import TagfillError
from tagfill.files import without_guard
from tagfill.labels.formats._columns import is_by_machine
from tagfill.labels.formats._doubts import Doubts
from tagfill.labels.formats._names import (
    HIERARCHY_NAMES,
    MACHINES,
    RANKS,
    REJECTED,
    SPECIES_NAMES,
    TAGS_NAMES,
    TRUTHS,
    VALUE_NAMES,
    any_machine_name,
    has_label_word,
    is_image_name,
    is_label_name,
    is_machine_name,
    is_score_name,
    is_tags_name,
    plain_name,
    words,
)
from tagfill.labels.formats._sheet import Sheet
from tagfill.labels.formats._splitter import Splitter
from tagfill.labels.formats._tags import BLANKS
from tagfill.labels.formats._ticks import code_of, is_sum
from tagfill.labels.formats.base import ReadOptions
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN

_BLANK_NAMES = ("isblank", "observationtype")
_THERE = frozenset({"present", "absent", "positive", "negative", "vorhanden", "fehlt"})
WIDE, LONG, TAG_LIST, OPEN_IMAGES = "csv_wide", "csv_long", "tag_list", "open_images"
WIDE_ID = "image id"
"""Image column of our own wide files if a class looks like a tags column."""


@dataclass(frozen=True)
class Plan:
    """What the columns of a table hold.

    Args:
        shape: name of the format: one column per class, one row per statement, or lists of tags.
        image: the column of image ids.
        folder: the column of their folders, where it takes both to tell images apart.
        labels: columns that may be classes (wide).
        tags: columns of tags (lists; in a long table the one column of labels).
        denied: columns of tags that are not there (lists).
        value: column of values (long).
        split: column of splits.
        rater: column that says who labeled, where several people did.
        status: columns that say whether somebody rejected what the row says, or who says it.
        removed: columns that say whether somebody took it back.
        blank: column that says whether the image shows nothing.
        flagged: the split of the images with a yes, where that column holds yes and no.
        splitter: how tags are told apart in their entries.
        left_out: columns that are none of these, and why.
        notes: decisions a user should see.
    """

    shape: str
    image: int
    labels: tuple[int, ...] = ()
    tags: tuple[int, ...] = ()
    denied: tuple[int, ...] = ()
    value: int | None = None
    split: int | None = None
    splitter: Splitter = field(default_factory=Splitter)
    left_out: dict[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    folder: int | None = None
    rater: int | None = None
    flagged: str | None = None
    status: tuple[int, ...] = ()
    removed: tuple[int, ...] = ()
    blank: int | None = None

    def rejects(self, fields: Sequence[str]) -> bool:
        """Whether somebody rejected what a row says, or a model says it."""
        texts = ["".join(fields[number : number + 1]).strip().lower() for number in self.status]
        flags = ["".join(fields[number : number + 1]) for number in self.removed]
        gone = [code_of(text) not in (NEGATIVE, UNKNOWN) for text in flags]
        return any(text in REJECTED or is_by_machine(text) for text in texts) or any(gone)

    def says_blank(self, fields: Sequence[str]) -> bool:
        """Whether a row says that the image shows nothing."""
        text = "" if self.blank is None else fields[self.blank]
        return text.strip().lower() in BLANKS or code_of(text) == POSITIVE

    def split_of(self, text: str) -> str:
        """The split that an entry of the column of splits names, or says yes or no to."""
        if self.flagged is None:
            return text
        code, other = code_of(text), "test" if self.flagged == "train" else "train"
        return self.flagged if code == POSITIVE else other if code == NEGATIVE else ""

    def image_of(self, fields: Sequence[str]) -> str:
        image = without_guard(fields[self.image])
        folder = "" if self.folder is None else fields[self.folder].strip().rstrip("/\\")
        return f"{folder}/{image}" if folder and image else image


def plan_columns(sheet: Sheet, options: ReadOptions, shape: str | None = None) -> Plan:
    """Decide what the columns of a table hold.

    Args:
        sheet: the table.
        options: columns the user named.
        shape: the format the user named; by default recognized from the columns.

    Raises:
        TagfillError: the columns do not fit the shape, or a column that was named is not there.
    """
    columns = _Planner(sheet, options)
    chosen = shape or columns.shape()
    makers = {WIDE: columns.wide, LONG: columns.long, TAG_LIST: columns.tag_list}
    if chosen not in makers:
        return Plan(OPEN_IMAGES, columns.image)
    return makers[chosen]()


def table_shape(sheet: Sheet) -> str | None:
    """The shape that columns announce, whatever else is wrong with them."""
    return _Planner(sheet, ReadOptions()).shape()


class _Planner(Doubts):
    def shape(self) -> str | None:
        names = [plain_name(name) for name in self.header]
        if self.options.tags_columns:
            return TAG_LIST
        if names[0] == "imageid" and {"labelname", "confidence"} <= set(names):
            return OPEN_IMAGES
        if not self.rest or self.header[self.image].strip() == WIDE_ID:
            return WIDE
        by_names = self._shape_by_names()
        boxes = not self.named and self.of_kind("number") and self.of_kind("text")
        ticks = self.of_kind("tick") and not boxes
        return by_names or (TAG_LIST if not ticks and self._lists_by_content() else WIDE)

    def _statements(self) -> tuple[list[int], list[int]]:
        """Columns that hold one tag per row, and those that say whether it is there."""
        single = [n for n in self.rest if is_label_name(self.header[n])]
        species = self._species()
        ranks = RANKS & {plain_name(name) for name in self.header}  # of biology, as class then is
        if species is not None and (not single or len(ranks) > 1):
            single = [species]
        values = [n for n in self.rest if self._says_values(n)]
        scores = [n for n in self.rest if is_score_name(self.header[n])]
        values += scores[:1] if single and not values and not self.names_models else []
        lists = [n for n in self.rest if is_tags_name(self.header[n])]
        says = len(values) == 1 and self.kinds[values[0]] in ("tick", "empty")
        if not single and len(lists) == 1 and says and not self._holds_lists(lists[0]):
            single = lists
        images = self.sheet.column(self.image)
        if not single and not lists and says and len(set(images)) < len(images):
            single = [n for n in self.of_kind("text") if self._repeats(n)]
        return single, values

    def _says_values(self, number: int) -> bool:
        """Whether a column says whether the tag of the row is there."""
        name = plain_name(self.header[number])
        if name != "status":
            return name in VALUE_NAMES
        texts = {text.strip().lower() for text in self.sheet.column(number)} - {""}
        return texts <= _THERE and bool(texts)

    def _blank(self) -> int | None:
        """The column that says whether there is any animal, as camera traps have."""
        names = [plain_name(name) for name in self.header]
        return next((names.index(name) for name in _BLANK_NAMES if name in names), None)

    def _species(self) -> int | None:
        """The column that names animals or plants, the common name before others."""
        names = {plain_name(self.header[n]): n for n in self.of_kind("text")}
        return next((names[name] for name in SPECIES_NAMES if name in names), None)

    def _filled(self, number: int) -> int:
        return sum(bool(text.strip()) for text in self.sheet.column(number))

    def _is_beside_classes(self, label: int) -> bool:
        """Whether a column of labels stands beside columns of 1 and 0 that may be classes."""
        ticked = {self.header[n].strip().lower() for n in self.ticked() if n != label}
        if len(ticked) < 2 or self._labels_repeat(label):
            return False
        labels = {text.strip().lower() for text in self.sheet.column(label)}
        return label != self._species() or bool(ticked & labels)

    def _may_be_tags(self, number: int) -> bool:
        """Whether a column holds other things than ticks and scores."""
        texts = [text.strip() for text in self.sheet.column(number)]
        scored = self.kinds[number] == "number" and not all(map(str.isdecimal, filter(None, texts)))
        return self.kinds[number] not in ("tick", "empty") and not scored

    def _shape_by_names(self) -> str | None:
        single, values = self._statements()
        lists = [n for n in self.rest if is_tags_name(self.header[n]) and n not in single]
        if single == [self._species()]:  # few observations have tags besides
            lists = [n for n in lists if 2 * self._filled(n) >= self._filled(single[0])]
        if any(self._may_be_tags(n) for n in lists):
            return TAG_LIST
        plain = [n for n in lists if plain_name(self.header[n]) in TAGS_NAMES]
        if plain and (len(plain) == len(self.rest) or not self.of_kind("tick")):
            return TAG_LIST
        named = [n for n in self.of_kind("text") if has_label_word(self.header[n])]
        wide = len(self.ticked()) > 1
        if not single and not wide and len(named) == 1 and self._holds_lists(named[0]):
            return TAG_LIST
        exact = len(single) == 1 and len(self.rest) == 1 + len(values) <= 2
        if len(single) != 1 or (not exact and self.kinds[single[0]] == "tick"):
            return None
        if values:
            said = self.kinds[values[0]]
            scored = said == "number" and is_score_name(self.header[values[0]])
            fits = exact or said in ("tick", "empty") or scored
            return LONG if len(values) == 1 and fits else None
        if not exact and self._is_beside_classes(single[0]):
            return None
        return TAG_LIST if self._holds_lists(single[0]) else LONG

    def wide(self) -> Plan:
        self._check_names()
        self.refuse_other_codes()
        if self.options.classes is None:
            self.refuse_shared_classes()
        sums = list(filter(self._counts_classes, self.rest))
        guesses = self._guesses()
        classes = tuple(n for n in self.rest if n not in {*sums, *guesses})
        self.left_out |= dict.fromkeys(sums, "how many classes an image has")
        self.left_out |= dict.fromkeys(guesses, "a model's")
        return self._plan(WIDE, self.rest, labels=classes)

    def _guesses(self) -> list[int]:
        """Columns with a model's view of the classes of others: ``cat_pred``."""
        if not any_machine_name(self.header):
            return []
        about = {number: frozenset(words(self.header[number])) for number in self.rest}
        classes = {name - TRUTHS for name in about.values()} - {frozenset()}
        return [n for n, name in about.items() if name & MACHINES and name - MACHINES in classes]

    def _counts_classes(self, number: int) -> bool:
        """Whether a column is called a sum and counts a row's yes, in most rows or above 1."""
        name = self.header[number].strip()
        if not is_sum(name) or name in (self.options.classes or ()) or len(self.rest) < 3:
            return False
        real = [not is_sum(image) for image in self.sheet.column(self.image)]
        others = (compress(self.sheet.column(n), real) for n in self.rest if n != number)
        yes = [sum(code_of(text) == POSITIVE for text in row) for row in zip(*others, strict=True)]
        texts = [t.strip().removesuffix(".0") or "0" for t in self.sheet.column(number)]
        if not all(map(str.isdecimal, texts)):
            return False
        counts = list(map(int, compress(texts, real)))
        return max(counts, default=0) > 1 or 2 * sum(map(eq, counts, yes)) > len(counts)

    def long(self) -> Plan:
        single, values = self._statements()
        single = self._told() or single
        if len(single) != 1 or len(values) > 1:
            raise self._misfit("one column called label or class and at most one called value")
        used = {*single, *values}
        notes = []
        if not values and {code_of(text) for text in self.sheet.column(single[0])} == {0, 1}:
            name = self._names(single)
            self.refuse_ids_with_classes()
            notes.append(
                f"{name} holds only 1 and 0: they were read as two classes; if they are yes and no"
                " to a tag, call the column like the tag"
            )
        value, blank = values[0] if values else None, self._blank()
        used |= set() if blank is None else {blank}
        notes = [*self._unread_ticks(used), *notes]
        if value is None:
            self.refuse_guesses(used)
            self.refuse_votes(used)
        return self._plan(
            LONG, used, tags=tuple(single), value=value, blank=blank, notes=tuple(notes)
        )

    def tag_list(self) -> Plan:
        """Tags in one column, or in several."""
        named = [n for n in self.rest if is_tags_name(self.header[n])]
        texts = [n for n in named if self.kinds[n] != "tick"]
        single = [n for n in self.rest if is_label_name(self.header[n])]
        worded = [n for n in self.of_kind("text") if has_label_word(self.header[n])]
        tags = self._told() or texts or named or (single if len(single) == 1 else [])
        tags = tags or (worded if len(worded) == 1 else [])
        tags, notes = self._with_nameless(tags), []
        if not tags:
            tags = self._lists_by_content()
            shown = self._names(tags) if self.named else "all columns after the image"
            notes = [f"tags are read from {shown}, judging by content (--tags-column)"]
        if not tags:
            raise self._misfit("a tags column, called tags or keywords or set with --tags-column")
        guessed = [] if self._told() else [n for n in tags if is_machine_name(self.header[n])]
        if guessed:
            tags = [n for n in tags if n not in guessed] or tags
            read = "were read: leave out what is a model's" if guessed == tags else "were left out"
            notes.append(f"{self._names(guessed)}: tags of a model, which are no labels, {read}")
        plain = [n for n in tags if plain_name(self.header[n]) not in HIERARCHY_NAMES]
        self.refuse_guesses(tags)
        denied = [] if self._told() else self.denied
        if denied:
            notes.append(f"{self._names(denied)}: tags that are not there")
        return self._plan(
            TAG_LIST,
            (*tags, *denied),
            tags=tuple(tags),
            denied=tuple(denied),
            splitter=self._splitter([*plain, *denied]),
            notes=(*notes, *self._unread_ticks(tags)),
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

    def _plan(self, shape: str, used: Collection[int], **columns: Any) -> Plan:
        unused = dict.fromkeys({*self.rest, *self.denied}.difference(used), "no tags")
        left_out = {**self.left_out, **unused}
        other = [n for n in self.of_kind("image") if self._names_others(n)]
        if other:
            read, unread = self._names([self.image]), self._names(other)
            note = f"the images are those of {read}; {unread}: other images (--image-column)"
            columns["notes"] = (*columns.get("notes", ()), note)
        unusual = self.named and not is_image_name(self.header[self.image])
        if unusual and self.kinds[self.image] != "image" and self.options.image_column is None:
            note = f"images are named by {self._names([self.image])}, judging by content"
            columns["notes"] = (*columns.get("notes", ()), f"{note} (--image-column)")
        if self.flagged is not None and self.split is not None:
            note = f"{self._names([self.split])} was read as the split: yes is {self.flagged}"
            columns["notes"] = (*columns.get("notes", ()), note)
        return Plan(
            shape,
            self.image,
            split=self.split,
            flagged=self.flagged,
            rater=self.rater,
            status=self.status,
            removed=self.removed,
            folder=self.folder,
            left_out=left_out,
            **columns,
        )

    def _names_others(self, number: int) -> bool:
        """Whether a column names other files than that of the images."""
        pairs = zip(self.sheet.column(number), self.sheet.column(self.image), strict=False)
        return any(other.strip() and Path(other).stem != Path(image).stem for other, image in pairs)

    def _unread_ticks(self, used: Collection[int]) -> list[str]:
        """A note on columns of yes and no that are not read as values of tags."""
        doubtful = [
            n
            for n in self.ticked()
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
        return self.refusal(f"the header needs image ids and {needed}; its columns: {listed}")

    def _check_names(self) -> None:
        names = [name.strip() for name in self.header]
        first = {name: number for number, name in reversed(list(enumerate(names)))}
        for number in self.rest:
            if not names[number]:
                remedy = f"name it, or skip it: --ignore-columns {number + 1}"
                raise self.refusal(f"column {number + 1} has no name", remedy)
            again = names[number].removesuffix(".1")  # so pandas calls a second column
            if again in first and again != names[number] and again[-1:].isalpha():
                both = f"columns {first[again] + 1} and {number + 1}"
                raise self.refusal(f"{both} were both called {again!r}", "merge or rename them")
            if first[names[number]] < number:
                both = f"columns {first[names[number]] + 1} and {number + 1}"
                raise self.refusal(f"{both} are both called {names[number]!r}")
