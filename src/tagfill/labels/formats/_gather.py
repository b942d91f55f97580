"""Statements about images, gathered from any source and turned into one data set."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tagfill.errors import Problems
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._ids import clean_ids, find_root
from tagfill.labels.formats._merge import Records
from tagfill.labels.formats.base import Absent, ReadOptions
from tagfill.labels.table import NEGATIVE, UNKNOWN, Labels, Rows


class Gather:
    """Collects records (one image each) and the labels stated in them.

    Records of the same image are merged if they agree; contradictions become errors that name both
    rows, and the cell stays unknown.

    Args:
        source: the file being read.
        options: what absence means, the class list, the image folder.
        problems: where flaws are reported.
        absent: what absence means unless ``options`` says otherwise; ``None`` where the format
            states unknowns itself.

    Attributes:
        notes: decisions a user should see.
        place: table row of every record, once ``dataset`` was called.
    """

    def __init__(
        self, source: Path, options: ReadOptions, problems: Problems, absent: Absent | None = None
    ) -> None:
        self.source, self.options, self.problems = source, options, problems
        self.absent = options.absent or absent
        self.notes: list[str] = []
        self.place: Rows = np.empty(0, dtype=np.intp)
        self._label_of = {name: number for number, name in enumerate(options.classes or ())}
        self._images: list[str] = []
        self._rows: list[int | None] = []
        self._splits: dict[int, str] = {}
        self._cells = tuple(array(code) for code in "qqbq")

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes known so far."""
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
        name = name.strip()
        number = self._label_of.get(name)
        if number is None:
            if not name:
                self.problems.error("a class name is empty", file=self.source, row=row)
            elif self.options.classes is not None:
                self.problems.error(
                    f"class {name!r} is not in the class list", file=self.source, row=row
                )
            else:
                number = self._label_of[name] = len(self._label_of)
        return number

    def mark(self, record: int, label: int | None, value: int, row: int | None = None) -> None:
        """State one cell of a record; a class that was refused (``None``) is passed over."""
        if label is not None and value != UNKNOWN:
            statement = (record, label, value, -1 if row is None else row)
            for cells, each in zip(self._cells, statement, strict=True):
                cells.append(each)

    def split(self, record: int, name: str, row: int | None = None) -> None:
        """Put an image into a named part; an empty name is no statement."""
        name = name.strip()
        if name:
            known = self._splits.setdefault(record, name)
            if known != name:
                self.problems.error(
                    f"image {self._images[record]!r} is in split {name!r}, but in {known!r} before",
                    file=self.source,
                    row=row,
                )

    def dataset(self, format: str) -> Dataset:
        """The data set of all records, repeats merged."""
        values = self._scatter()
        if self.absent == "negative":
            values[values == UNKNOWN] = NEGATIVE
        root = self.options.image_root
        ids = clean_ids(self._images, self._rows, self.source, root, self.problems)
        records = Records(ids, self._rows, self.classes, values, self.source, self.problems)
        table, self.place = records.merged()
        absence = [absence_note(self.absent)] if self.absent else []
        return Dataset(
            table=table,
            source=self.source,
            format=format,
            splits=records.splits(self.place, self._splits),
            image_root=root or find_root(self.source, table.images),
            notes=(*self.notes, *absence),
        )

    def _scatter(self) -> Labels:
        record, label, value, row = (np.asarray(cells) for cells in self._cells)
        values = np.full((len(self), len(self._label_of)), UNKNOWN, dtype=np.int8)
        values[record, label] = value
        clash = np.flatnonzero(values[record, label] != value)
        for each in clash:
            same = np.flatnonzero((record == record[each]) & (label == label[each]))
            other = same[value[same] != value[each]][0]
            first, second = sorted((int(row[each]), int(row[other])))
            self.problems.error(
                f"image {self._images[record[each]]!r} is positive and negative for class"
                f" {self.classes[label[each]]!r}, in rows {first} and {second}",
                file=self.source,
                row=second,
                remedy="keep one of the two",
            )
        values[record[clash], label[clash]] = UNKNOWN
        self._report_repeats(record * max(1, values.shape[1]) + label, record, row)
        return values

    def _report_repeats(self, cells: Rows, record: Rows, row: npt.NDArray[np.int64]) -> None:
        first = np.unique(cells, return_index=True)[1]
        if len(first) < len(cells):
            again = np.setdiff1d(np.arange(len(cells)), first)[0]
            self.problems.warn(
                f"{len(cells) - len(first)} labels are stated more than once, first for image"
                f" {self._images[record[again]]!r}; repeats were merged",
                file=self.source,
                row=int(row[again]) if row[again] >= 0 else None,
            )


def absence_note(absent: Absent) -> str:
    """Say what a tag that is not mentioned was taken to mean."""
    other = "negative" if absent == "unknown" else "unknown"
    return f"tags that are not mentioned count as {absent} (--absent {other} changes this)"
