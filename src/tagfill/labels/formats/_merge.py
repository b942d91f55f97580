"""Records about images become one table: repeats are merged, contradictions reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tagfill.arrays import Mask
from tagfill.errors import counted
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._ids import clean_ids, find_root
from tagfill.labels.formats.base import Source
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels, LabelTable, Rows

_SPLIT_NAMES = {"training": "train", "valid": "val", "validation": "val", "testing": "test"}
_SPLIT_NAMES |= {"train": "train", "val": "val", "test": "test"}
SPLITS = frozenset(_SPLIT_NAMES.values())
_LISTED = 10


@dataclass
class Records:
    """Labels as a source lists them: an image may have several records.

    Args:
        source: where they come from, and where repeats and contradictions are reported.
        ids: image id of each record, as it is written there.
        rows: row of each record in the source.
        classes: K class names.
        values: [records, K] labels.
        splits: the split of each record that names one.
        raters: whether several people labeled each image; what they disagree on is unknown.
    """

    source: Source
    ids: Sequence[str]
    rows: Sequence[int | None]
    classes: tuple[str, ...]
    values: Labels
    splits: Mapping[int, str] = field(default_factory=dict)
    raters: bool = False
    place: Rows = field(init=False)
    """The table row of every record."""

    def __post_init__(self) -> None:
        told = self.source.options.image_root
        self.ids, self.root = clean_ids(self.ids, self.rows, self.source, told)

    def dataset(self, image_root: Path | None = None, notes: Sequence[str] = ()) -> Dataset:
        """One row per image; its records fill each other in, contradicted labels stay unknown.

        Args:
            image_root: the folder of the images, unless the user names one; looked for by default.
            notes: decisions a user should see.
        """
        told, table = self.source.options.image_root, self._table()
        return Dataset(
            table=table,
            source=self.source.path,
            format=self.source.format.name,
            splits=self._splits(),
            image_root=told or image_root or self.root or find_root(self.source.path, table.images),
            notes=tuple(notes),
        )

    def _table(self) -> LabelTable:
        if not self.classes or not self.ids:
            self.source.problems.raise_errors()
        if not self.ids:
            raise self.source.refusal("it has no images", remedy="add a row for every image")
        if not self.classes:
            raise self.source.refusal("it has no classes", remedy="tag some of its images first")
        row_of = {image: row for row, image in enumerate(dict.fromkeys(self.ids))}
        values = self.values
        if len(row_of) == len(self.ids):
            self.place = np.arange(len(self.ids))
        else:
            self.place = np.array([row_of[image] for image in self.ids], dtype=np.intp)
            values = self._without_repeats()
        empty = ~(values == POSITIVE).any(axis=0)
        if empty.any():
            named = _first_names(self.classes, empty)
            count = f"{int(empty.sum())} of {len(empty)} classes"
            self.source.warn(f"{count} have no positive: {named}")
        return LabelTable(tuple(row_of), self.classes, values)

    def _splits(self) -> dict[str, Rows]:
        owner: dict[int, int] = {}
        parts: dict[str, list[int]] = {}
        for record, given in sorted(self.splits.items()):
            name = usual_split(given)
            row = int(self.place[record])
            first = owner.setdefault(row, record)
            if first == record:
                parts.setdefault(name, []).append(row)
            elif usual_split(self.splits[first]) != name:
                self.source.error(
                    f"image {self.ids[record]!r} is in split {name!r}, but in"
                    f" {self.splits[first]!r} by row {self.rows[first]}",
                    self.rows[record],
                )
        return {name: np.array(sorted(rows), dtype=np.intp) for name, rows in parts.items()}

    def _agreed(self) -> Labels:
        """What the people who labeled an image say, unless one of them says the opposite."""
        yes = np.zeros((int(self.place.max()) + 1, len(self.classes)), dtype=bool)
        no = yes.copy()
        np.logical_or.at(yes, self.place, self.values == POSITIVE)
        np.logical_or.at(no, self.place, self.values == NEGATIVE)
        disputed = int((yes & no).sum())
        if disputed:
            labels = counted(disputed, "label is", "labels are")
            self.source.warn(f"{labels} disputed between raters and left unknown")
        return np.where(yes == no, UNKNOWN, yes).astype(np.int8)

    def _without_repeats(self) -> Labels:
        if self.raters:
            return self._agreed()
        place = self.place
        merged = self.values[np.unique(place, return_index=True)[1]]
        earlier: dict[int, list[int]] = {}
        for record in np.flatnonzero(np.bincount(place)[place] > 1):
            ours, theirs = merged[place[record]], self.values[record]
            others = earlier.setdefault(int(place[record]), [])
            if others:
                clash = (ours != UNKNOWN) & (theirs != UNKNOWN) & (ours != theirs)
                self._report(int(record), others, clash)
                ours[theirs != UNKNOWN] = theirs[theirs != UNKNOWN]
                ours[clash] = UNKNOWN
            others.append(int(record))
        return merged

    def _report(self, record: int, others: list[int], clash: Mask) -> None:
        image, row = self.ids[record], self.rows[record]
        if not clash.any():
            again = f"image {image!r} is listed again and agrees with row {self.rows[others[0]]}"
            self.source.warn(f"{again}; the rows were merged", row)
            return
        column = self.values[:, int(np.flatnonzero(clash)[0])]
        other = next(one for one in others if column[one] not in (UNKNOWN, column[record]))
        contradicted = _first_names(self.classes, clash)
        self.source.error(
            f"image {image!r} contradicts row {self.rows[other]} on {contradicted}",
            row,
            remedy="keep one of the two rows",
        )


def usual_split(name: str) -> str:
    """A split's normalized name: train, val, test, or the name in the source."""
    return _SPLIT_NAMES.get(name.strip().lower(), name.strip())


def _first_names(names: Sequence[str], chosen: Mask) -> str:
    picked = [repr(name) for name, taken in zip(names, chosen, strict=True) if taken]
    more = f" and {len(picked) - _LISTED} more" if len(picked) > _LISTED else ""
    return ", ".join(picked[:_LISTED]) + more
