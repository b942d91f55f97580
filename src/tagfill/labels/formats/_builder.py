"""Statements about images, gathered from any source and turned into one data set."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tagfill.arrays import Integers
from tagfill.errors import counted
from tagfill.labels.dataset import Boxes, Dataset, Suggestions
from tagfill.labels.formats._ids import is_text, plain_text, typed_text
from tagfill.labels.formats._merge import Records
from tagfill.labels.formats._tags import BLANKS, denies_all
from tagfill.labels.formats._ticks import is_image
from tagfill.labels.formats.base import Absent, Source
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels, Rows


class BoxList:
    """Collects boxes; those without area or image size are counted and left out."""

    def __init__(self) -> None:
        self._owners: list[tuple[int, int]] = []
        self._pixels: list[tuple[float, ...]] = []
        self.left_out = 0

    def add(
        self, record: int, label: int | None, corners: Sequence[float], size: Sequence[float]
    ) -> None:
        """Add a box.

        Args:
            record: record of its image.
            label: its class; a refused one (``None``) is passed over.
            corners: left, top, right, bottom in pixels.
            size: width and height of the image in pixels.
        """
        left, top, right, bottom = corners
        if label is None:
            return
        if not (min(size) > 0 and right > left and bottom > top):
            self.left_out += 1
            return
        self._owners.append((record, label))
        self._pixels.append((*corners, *size))

    def boxes(self, place: Rows) -> Boxes | None:
        """All boxes, cut at the image's edges.

        Args:
            place: the table row of every record.
        """
        if not self._owners:
            return None
        record, label = np.array(self._owners, dtype=np.intp).T
        pixels = np.array(self._pixels, dtype=np.float64)
        corners = np.clip(pixels[:, :4] / np.tile(pixels[:, 4:], 2), 0.0, 1.0)
        xywh = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)
        return Boxes(image=place[record], label=label, xywh=xywh)


TagPath = tuple[str, ...]


class PathList:
    """Collects paths of tags; a name with several parents keeps its whole path.

    >>> paths = PathList()
    >>> paths.add(0, ["animal", "bat"]); paths.add(1, ["sport", "bat"])
    >>> [names for _, names, _ in paths.statements()]
    [['animal', 'animal|bat'], ['sport', 'sport|bat']]
    """

    def __init__(self) -> None:
        self._stated: list[tuple[int, TagPath, int | None]] = []
        self._parents: defaultdict[str, set[TagPath]] = defaultdict(set)

    def add(self, record: int, names: Iterable[str], row: int | None = None) -> None:
        """Add the path of one record, the most general name first."""
        path = tuple(name for part in names if (name := part.strip()))
        if path and len(set(path)) == len(path):
            self._stated.append((record, path, row))
            for depth, name in enumerate(path):
                if len(path) > 1:
                    self._parents[name].add(path[:depth])
        elif path:
            self.add(record, dict.fromkeys(path), row)

    def statements(self) -> Iterator[tuple[int, list[str], int | None]]:
        """The names each path stands for, with its record and row."""
        for record, path, row in self._stated:
            yield record, [self._name(path[: depth + 1]) for depth in range(len(path))], row

    def hierarchy(self) -> dict[str, TagPath]:
        """The name each name directly implies."""
        implied: dict[str, TagPath] = {}
        for _, path, _ in self._stated:
            for depth in range(1, len(path)):
                implied[self._name(path[: depth + 1])] = (self._name(path[:depth]),)
        return implied

    def _name(self, path: TagPath) -> str:
        return path[-1] if len(self._parents[path[-1]]) <= 1 else "|".join(path)


class LabelBuilder:
    """Collects records (one image each) and the labels stated in them.

    Records of the same image are merged if they agree; contradictions become errors that name both
    rows, and the label stays unknown.

    Args:
        source: what is being read.
        free_tags: whether people typed the classes freely.

    Attributes:
        absent: what absence means; ``None`` where the source states unknowns itself.
        hierarchy: what separates the names of a tag that is a path.
        raters: whether several people labeled each image.
        notes: decisions a user should see.
        boxes: where things are, in pixels.
        place: table row of every record, once ``dataset`` was called.
    """

    def __init__(self, source: Source, *, free_tags: bool = False) -> None:
        self.source = source
        self.absent = source.options.absent or source.format.default_absent
        self.hierarchy = source.options.hierarchy
        self.free_tags = free_tags and source.options.classes is None
        self.raters = False
        self.notes: list[str] = []
        self.paths = PathList()
        self.boxes = BoxList()
        self.place: Rows = np.empty(0, dtype=np.intp)
        self._label_of = {name: number for number, name in enumerate(source.options.classes or ())}
        self._proposed: list[tuple[int, int, float, str]] = []
        self._closed = np.empty(0, dtype=bool)
        self._without: dict[int, str] = {}
        self._images: list[str] = []
        self._rows: list[int | None] = []
        self._splits: dict[int, str] = {}
        self._statements = tuple(array(code) for code in "qqbq")

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(self._label_of)

    def __len__(self) -> int:
        return len(self._images)

    def record(self, image: str, row: int | None = None) -> int:
        """Open a record about an image; returns its number."""
        self._images.append(image)
        self._rows.append(row)
        return len(self._images) - 1

    def label(self, name: str, row: int | None = None) -> int | None:
        """Number of a class, new or known; ``None`` (and an error) if the class list lacks it."""
        name = typed_text(name) if self.free_tags else plain_text(name)
        number = self._label_of.get(name)
        if number is None:
            if not name:
                self.source.error("a class name is empty", row)
            elif not is_text(name):
                self.source.error(f"class {name!r} is not text", row)
            elif self.source.options.classes is not None:
                self.source.error(f"class {name!r} is not in the class list", row)
            else:
                number = self._label_of[name] = len(self._label_of)
        return number

    def declare(self, names: Iterable[str], row: int | None = None) -> None:
        """Number classes that the source lists: their spelling is intended."""
        self.free_tags = False
        for name in names:
            self.label(name, row)

    def tags(self, record: int, names: Iterable[str], row: int | None = None) -> None:
        """State that an image has tags, which may be paths where the user says so."""
        for name in names:
            if self.hierarchy and self.hierarchy in name:
                self.paths.add(record, name.split(self.hierarchy), row)
            else:
                self.positive(record, name, row)

    def positive(self, record: int, name: str, row: int | None = None) -> None:
        self.mark(record, self.label(name, row), POSITIVE, row)
        if self.free_tags and denies_all(name):
            self.without_any(record, name)

    def without_any(self, record: int, said: str) -> None:
        """State that no class applies to a record, as a text says; tags that it has overrule it."""
        self._without[record] = said

    def negative(self, record: int, name: str, row: int | None = None) -> None:
        self.mark(record, self.label(name, row), NEGATIVE, row)

    def mark(self, record: int, label: int | None, value: int, row: int | None = None) -> None:
        """State one label of a record; a class that was refused (``None``) is skipped."""
        if label is not None and value != UNKNOWN:
            statement = (record, label, value, -1 if row is None else row)
            for column, number in zip(self._statements, statement, strict=True):
                column.append(number)

    def suggest(self, record: int, label: int | None, score: float | None, model: str) -> None:
        """State that a model proposes a label, with a probability."""
        if label is not None:
            self._proposed.append((record, label, 1.0 if score is None else score, model))

    def close_world(self, *, except_for: Sequence[int]) -> None:
        """Take absence for what it means in all records but those without labels of any kind."""
        if except_for:
            count = f"{len(except_for):,} of {len(self):,} images have no labels"
            self.notes.append(f"{count}: nothing is known of them")
        self._closed = np.full(len(self), self.absent == "negative")
        self._closed[list(except_for)] = False

    def split(self, record: int, name: str, row: int | None = None) -> None:
        """Put an image into a named split; an empty name is ignored."""
        name = name.strip()
        known = self._splits.get(record, name)
        if name and not is_text(name):
            self.source.error(f"split {name!r} is not text", row)
        elif known != name and name:
            image = self._images[record]
            self.source.error(f"image {image!r} is in split {name!r}, but in {known!r} before", row)
        elif name:
            self._splits[record] = name

    def dataset(self, image_root: Path | None = None) -> Dataset:
        """The data set of all records, repeats merged.

        Args:
            image_root: the folder of the images, unless the user names one; looked for by default.
        """
        for record, names, row in self.paths.statements():
            for name in names:
                self.positive(record, name, row)
        values = self._scatter()
        self._refuse_images()
        self._deny_all(values)
        closed = self._closed[:, None] if len(self._closed) else self.absent == "negative"
        values[(values == UNKNOWN) & closed] = NEGATIVE
        records = Records(
            self.source, self._images, self._rows, self.classes, values, self._splits, self.raters
        )
        dataset = records.dataset(image_root)
        self.place = records.place
        if self.boxes.left_out:
            count = f"{self.boxes.left_out} boxes"
            self.notes.append(f"{count} without area or without image size were left out")
        if self.absent:
            self.notes.append(absence_note(self.absent))
        suggestions = None
        if self._proposed:
            owners, labels, scores, models = zip(*self._proposed, strict=True)
            entries = self.place[list(owners)], np.array(labels, dtype=np.intp)
            suggestions = Suggestions(*entries, np.array(scores, dtype=np.float64), models[-1])
        return replace(
            dataset,
            table=replace(dataset.table, hierarchy=self.paths.hierarchy()),
            boxes=self.boxes.boxes(self.place),
            suggestions=suggestions,
            free_tags=self.free_tags,
            notes=tuple(self.notes),
        )

    def _scatter(self) -> Labels:
        record, label, value, row = (np.asarray(column) for column in self._statements)
        values = np.full((len(self), len(self._label_of)), UNKNOWN, dtype=np.int8)
        values[record, label] = value
        clash = np.flatnonzero(values[record, label] != value)
        for number in clash:
            same = np.flatnonzero((record == record[number]) & (label == label[number]))
            other = same[value[same] != value[number]][0]
            first, second = sorted((int(row[number]), int(row[other])))
            self.source.error(
                f"image {self._images[record[number]]!r} is positive and negative for class"
                f" {self.classes[label[number]]!r}, in rows {first} and {second}",
                second,
                remedy="keep one of the two",
            )
        values[record[clash], label[clash]] = UNKNOWN
        self._report_repeats(record * max(1, values.shape[1]) + label, record, row)
        return values

    def _refuse_images(self) -> None:
        """Report a tag that is the name of an image, as where a row has its columns exchanged."""
        images = [number for number, name in enumerate(self.classes) if is_image(name)]
        if self.source.options.classes is None and 0 < 2 * len(images) < len(self.classes):
            place = self._statements[1].index(images[0]) if images[0] in self._statements[1] else -1
            self.source.error(
                f"tag {self.classes[images[0]]!r} is the name of an image",
                None if place < 0 else self._statements[3][place],
                remedy="write images and tags in the columns of the header",
            )

    def _deny_all(self, values: Labels) -> None:
        """Take all classes for absent where a record says so, unless it has one nevertheless."""
        real = np.array([name.lower() not in BLANKS for name in self.classes], dtype=bool)
        denied = [n for n in self._without if not (values[n, real] == POSITIVE).any()]
        for record in denied:
            values[record, real] = NEGATIVE
        if self._without:
            some = (values[:, real] == POSITIVE).any(axis=1)[:, None]
            values[(values == UNKNOWN) & some & ~real] = NEGATIVE
            said = next(iter(self._without.values()))
            both = len(self._without) - len(denied)
            beside = f"; {both:,} of them say it beside other tags and were not" if both else ""
            self.notes.append(
                f"{counted(len(self._without), 'entry says', 'entries say')} that no other tag"
                f" applies, such as {said!r}, and were read so{beside} (--classes with this name"
                " keeps it a tag like others)"
            )

    def _report_repeats(self, entries: Rows, record: Rows, row: Integers) -> None:
        """Warn of labels that several rows state; within one row, a tag and its path agree."""
        places = np.unique(np.stack([entries, row]), axis=1)
        first = np.unique(places[0], return_index=True)[1]
        repeats = np.setdiff1d(np.arange(places.shape[1]), first)
        if len(repeats):
            entry, again = places[:, repeats[0]]
            image = self._images[record[entries == entry][0]]
            self.source.warn(
                f"{len(repeats)} labels are stated more than once, first for image {image!r};"
                " repeats were merged",
                int(again) if again >= 0 else None,
            )


def absence_note(absent: Absent) -> str:
    other = "negative" if absent == "unknown" else "unknown"
    return f"tags that are not mentioned count as {absent} (--absent {other} changes this)"
