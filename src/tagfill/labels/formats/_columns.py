"""The columns of one table, judged by their names and by what they hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain

from tagfill.errors import TagfillError
from tagfill.labels.formats._ids import find_root
from tagfill.labels.formats._merge import SPLITS, usual_split
from tagfill.labels.formats._names import (
    FOLDER_NAMES,
    MACHINES,
    RATER_NAMES,
    REJECTED,
    REMOVED_NAMES,
    REVIEWED,
    SHAPE_NAMES,
    SOURCE_NAMES,
    SPLIT,
    SPLIT_FLAGS,
    has_label_word,
    is_denial_name,
    is_image_name,
    is_status_name,
    may_number_rows,
    plain_name,
    without_number,
)
from tagfill.labels.formats._sheet import Sheet
from tagfill.labels.formats._splitter import Splitter, are_captions, find_splitter
from tagfill.labels.formats._tags import has_separator, split_tags
from tagfill.labels.formats._ticks import ColumnKind, code_of, column_kind, is_image, kind_of
from tagfill.labels.formats.base import ReadOptions
from tagfill.labels.table import NEGATIVE, POSITIVE

_SPLIT_LIKE = {"set", "subset", "partition", "teilmenge", "aufteilung"}
_CHECKED = 20
"""Images that are looked for to choose between columns."""
_WORDY = 3.0
"""Sentences have more words than this."""


def is_by_machine(text: str) -> bool:
    """Whether an entry says that a model labeled the row: ``machine``, ``Computer vision``."""
    return plain_name(text) in MACHINES


def column_named(header: Sequence[str], name: str, sheet: Sheet) -> int:
    """The number of a column by its name, as spelled or nearly so, or by its place from 1."""
    for spelled in (str.strip, plain_name):
        names = [spelled(known) for known in header]
        if names.count(spelled(name)) == 1:
            return names.index(spelled(name))
    if name.strip().isdecimal() and 1 <= int(name) <= len(header):
        return int(name) - 1
    listed = ", ".join(known.strip() for known in header)
    raise TagfillError(
        f"there is no column {name!r}", file=sheet.path, remedy=f"its columns: {listed}"
    )


def _are_wordy(tags: Sequence[str]) -> bool:
    return bool(tags) and sum(len(tag.split()) for tag in tags) > _WORDY * len(tags)


class Columns:
    def __init__(self, sheet: Sheet, options: ReadOptions) -> None:
        self.sheet, self.options, self.header = sheet, options, sheet.header
        self.named = sheet.header_row is not None
        self.left_out = self._without_content()
        for number in self._all_named(options.ignore_columns):
            self.left_out[number] = "as told"
        self.image = self._image()
        if not self.named and self.kinds[self.image] not in ("image", "empty"):
            raise self._no_images()
        self.left_out.pop(self.image, None)
        self.folder = self._folder()
        used = (self.image, self.folder)
        others = [n for n in range(len(self.header)) if n not in used and n not in self.left_out]
        self.rater = next((n for n in others if self._names_raters(n)), None)
        if self.rater is not None:
            self.left_out[self.rater] = "who labeled"
            others.remove(self.rater)
        self.status, self.removed = self._reviews(others)
        self.left_out |= dict.fromkeys((*self.status, *self.removed), "what counts")
        self.left_out |= self._of_batch(others)
        others = [n for n in others if n not in self.left_out]
        self.split = next((n for n in others if self._is_split(n)), None)
        self.flagged = self._flagged(others)
        self.denied = [
            n for n in others if is_denial_name(self.header[n]) and self.kinds[n] == "text"
        ]
        self.rest = [n for n in others if n != self.split and n not in self.denied]

    def _is_split(self, number: int) -> bool:
        """A column called split or similar, or without a name, of only the usual split names."""
        name = plain_name(self.header[number])
        if self.named and name not in _SPLIT_LIKE:
            return name == SPLIT
        texts = {usual_split(text) for text in self.sheet.column(number) if text.strip()}
        return bool(texts) and texts <= SPLITS

    def _reviews(self, others: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Columns that say whether a row was rejected or is a model's, or was taken back."""
        status, removed = [], []
        for number in others:
            name = self.header[number]
            if is_status_name(name) and len(others) > 1:
                texts = {text.strip().lower() for text in self.sheet.column(number)} - {""}
                if texts and texts <= REVIEWED and not texts <= REJECTED:
                    status.append(number)
            elif plain_name(name) in SOURCE_NAMES:
                by_machine = set(map(is_by_machine, filter(str.strip, self.sheet.column(number))))
                if by_machine == {True, False}:
                    status.append(number)
            elif (plain_name(name) in REMOVED_NAMES and self.kinds[number] == "tick") or (
                plain_name(name) == "reject" and self._is_batch()
            ):
                removed.append(number)
        return tuple(status), tuple(removed)

    @property
    def names_models(self) -> bool:
        """Whether a column says which rows are a model's, so that its scores do not matter."""
        return any(plain_name(self.header[number]) in SOURCE_NAMES for number in self.status)

    def _is_batch(self) -> bool:
        """Whether the table holds the answers of a batch at Mechanical Turk."""
        return any(name.strip() == "HITId" for name in self.header)

    def _of_batch(self, others: Sequence[int]) -> dict[int, str]:
        """Columns of such a table that hold no answers."""
        answers = [n for n in others if self.header[n].startswith("Answer.")]
        if not answers or not self._is_batch():
            return {}
        return dict.fromkeys(set(others).difference(answers, self.left_out), "about the batch")

    def _names_raters(self, number: int) -> bool:
        """Whether a column says which of several people labeled the image of the row."""
        if plain_name(self.header[number]) not in RATER_NAMES:
            return False
        raters = set(zip(self.sheet.column(self.image), self.sheet.column(number), strict=False))
        return len(raters) > len({image for image, _ in raters})

    def _flagged(self, others: Sequence[int]) -> str | None:
        """The split that a column of yes and no is about, where no other column names splits."""
        for number in others if self.split is None else ():
            flag = SPLIT_FLAGS.get(plain_name(self.header[number]))
            codes = [code_of(text) for text in self.sheet.column(number)] if flag else []
            held_out = codes.count(NEGATIVE if flag == "train" else POSITIVE)
            if set(codes) == {POSITIVE, NEGATIVE} and 2 * held_out < len(codes):
                self.split = number
                return flag
        return None

    @cached_property
    def kinds(self) -> list[ColumnKind]:
        return [column_kind(self.sheet.column(number)) for number in range(len(self.header))]

    def of_kind(self, *kinds: ColumnKind) -> list[int]:
        """Columns that hold such things, image and split aside."""
        return [number for number in self.rest if self.kinds[number] in kinds]

    def ticked(self) -> list[int]:
        """Columns in which every entry is a tick or empty."""
        return [
            number
            for number in self.of_kind("tick")
            if all(code_of(text) is not None for text in set(self.sheet.column(number)))
        ]

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
        several = [n for n in usable if self.kinds[n] == "image"]
        there = self._on_disk(several) if len(several) > 1 else None
        if usual:
            self._refuse_tables_side_by_side(usual)
        if there is not None:
            return there
        if usual:
            files = [n for n in usual if self.kinds[n] == "image"] or self._in_folders(
                usual, several
            )
            texts = [n for n in usual if self.kinds[n] not in ("tick", "empty")]
            return self._least_repeated(files) if files else (texts or usual)[0]
        files = [n for n in usable if self.kinds[n] == "image"]
        if files:
            return self._least_repeated(files)
        return self._unique_text(usable)

    def _in_folders(self, usual: Sequence[int], files: Sequence[int]) -> list[int]:
        """Columns of files beside usual ones that name their folders, and so repeat more often."""
        most = max(len(set(self.sheet.column(n))) for n in usual)
        return [n for n in files if len(set(self.sheet.column(n))) > most]

    def _on_disk(self, numbers: Sequence[int]) -> int | None:
        """The only one of several columns of images whose files are there."""
        folder = self.options.image_root
        there = []
        for number in numbers:
            names = tuple(text.strip() for text in self.sheet.column(number)[:_CHECKED])
            files = [folder is not None and (folder / name).is_file() for name in names]
            if any(files) if folder else find_root(self.sheet.path, names):
                there.append(number)
        return there[0] if len(there) == 1 else None

    def _folder(self) -> int | None:
        """The column of folders, where files in several of them have the same name."""
        images = self.sheet.column(self.image)
        for number, name in enumerate(self.header):
            if plain_name(name) in FOLDER_NAMES and self.kinds[number] not in ("image", "empty"):
                places = set(zip(self.sheet.column(number), images, strict=False))
                return number if len(places) > len(set(images)) else None
        return None

    def _no_images(self) -> TagfillError:
        if sum(map(is_image, self.sheet.sample[0])) > 1:
            return TagfillError(
                "the images are in a row and the classes in a column",
                file=self.sheet.path,
                row=1,
                remedy="exchange rows and columns: one row per image",
            )
        return TagfillError(
            "its first row names an image, but most others do not",
            file=self.sheet.path,
            remedy="write one row per image, with a header; of photos with keywords, exiftool does"
            " so with -csv",
        )

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
            named = (
                plain_name(self.header[number]).endswith("id") and self.kinds[number] == "number"
            )
            plain = self.kinds[number] == "text" and not any(map(has_separator, others))
            if (plain or named) and len(set(others)) == len(others) > 1:
                return number
        return first

    def _holds_lists(self, number: int) -> bool:
        """Whether entries list several tags; commas count only if no image is repeated."""
        texts, images = self.sheet.column(number), self.sheet.column(self.image)
        marks = ";|," if len(set(images)) == len(images) else ";|"
        if any(has_separator(text, marks) for text in texts):
            return True
        splitter = self._splitter([number])
        return bool(splitter.also or splitter.path)

    def _splitter(self, numbers: Sequence[int]) -> Splitter:
        columns = [self.sheet.column(number) for number in numbers]
        listed = [tag for texts in columns for tag in split_tags("".join(texts[:1]))]
        above = not "".join(self.sheet.column(self.image)[:1]).strip()
        options = self.options
        if above and listed:  # a list of the classes
            options = replace(options, classes=tuple(dict.fromkeys(listed)))
        return find_splitter(chain.from_iterable(columns), options, self.sheet.path)

    def _labels_repeat(self, number: int) -> bool:
        """Whether rows of one image have different labels in a column."""
        images, texts = self.sheet.column(self.image), self.sheet.column(number)
        pairs = {(image, text.strip()) for image, text in zip(images, texts, strict=False)}
        return len(pairs) > len({image for image, _ in pairs})

    def _lists_by_content(self) -> list[int]:
        texts = [
            n
            for n in self.of_kind("text")
            if not self._holds_sentences(n) and not self._holds_measures(n)
        ]
        if not self.named:
            return self.of_kind("text", "empty") if texts else []
        if len(texts) == 1 and (len(self.rest) == 1 or self._repeats(texts[0])):
            return [n for n in texts if not self._is_constant(n)]
        slots = [[n for n in texts if has_label_word(self.header[n])], *self._numbered(texts)]
        for group in slots:
            if len(group) > 1 and self._share_words(group):
                return group
        repeating = [n for n in texts if self._repeats(n)]
        listing = [n for n in repeating if any(map(has_separator, self.sheet.column(n)))]
        single = next((found for found in (repeating, listing) if len(found) == 1), [])
        return [n for n in single if not self._is_constant(n)]

    def _numbered(self, numbers: Sequence[int]) -> list[list[int]]:
        """Columns of one name with numbers behind it, such as ``Motif 1`` and ``Motif 2``."""
        groups: dict[str, list[int]] = {}
        for number in numbers:
            if without_number(self.header[number]) != plain_name(self.header[number]):
                groups.setdefault(without_number(self.header[number]), []).append(number)
        return list(groups.values())

    def _share_words(self, numbers: Sequence[int]) -> bool:
        """Whether columns hold the same tags: every one some of those of the others."""
        held = {number: set(self._tags(number)) for number in numbers}
        return all(
            held[n] & set().union(*(held[other] for other in numbers if other != n))
            for n in numbers
        )

    def _tags(self, number: int) -> list[str]:
        texts = self.sheet.column(number)
        split = Splitter(hashtags=True).split if are_captions(texts) else split_tags
        return [tag.lower() for text in texts for tag in split(text)]

    def _holds_measures(self, number: int) -> bool:
        """Whether entries list decimals, or four numbers each, as boxes do."""
        if plain_name(self.header[number]) in SHAPE_NAMES:
            return True
        lists = [split_tags(text) for text in self.sheet.column(number) if text.strip()]
        decimals = [tag for tags in lists for tag in tags if not tag.isdecimal()]
        boxes = bool(decimals) or {len(tags) for tags in lists} == {4}
        return boxes and all(kind_of(tag) == "number" or code_of(tag) == 0 for tag in decimals)

    def _holds_sentences(self, number: int) -> bool:
        if not _are_wordy(self._tags(number)):
            return False
        try:  # "dog and cat" are two tags where the words recur
            splitter = self._splitter([number])
        except TagfillError:
            return True
        return _are_wordy(
            [tag for text in self.sheet.column(number) for tag in splitter.tags(text)]
        )

    def _repeats(self, number: int) -> bool:
        tags = self._tags(number)
        return len(tags) < 4 or len(set(tags)) < 0.7 * len(tags)

    def _is_constant(self, number: int) -> bool:
        """Whether one of several columns has the same word for all images."""
        tags = self._tags(number)
        return len(self.rest) > 1 and len(set(tags)) == 1 and len(tags) > 3

    def _told(self) -> list[int]:
        return self._all_named(self.options.tags_columns)

    def _all_named(self, names: Iterable[str]) -> list[int]:
        """Columns by name; one name may list several, separated by commas."""
        known = {name.strip() for name in self.header}
        single = [part for name in names for part in ([name] if name in known else name.split(","))]
        return [column_named(self.header, name, self.sheet) for name in single if name.strip()]
