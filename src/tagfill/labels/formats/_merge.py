"""Records about images become one table: repeats are merged, contradictions reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tagfill.errors import Problems, TagfillError
from tagfill.labels.table import POSITIVE, UNKNOWN, Labels, LabelTable, Rows

_SPLIT_NAMES = {"training": "train", "valid": "val", "validation": "val", "testing": "test"}
_SPLIT_NAMES |= {"train": "train", "val": "val", "test": "test"}
SPLITS = frozenset(_SPLIT_NAMES.values())
_LISTED = 10


@dataclass(frozen=True)
class Records:
    """Labels as a source lists them: an image may have several records.

    Args:
        ids: image id of each record.
        rows: row of each record in the source.
        classes: K class names.
        values: [records, K] labels.
        source: the file they come from.
        problems: where repeats and contradictions are reported.
    """

    ids: Sequence[str]
    rows: Sequence[int | None]
    classes: tuple[str, ...]
    values: Labels
    source: Path
    problems: Problems

    def merged(self) -> tuple[LabelTable, Rows]:
        """One row per image; its records fill each other in, contradicted labels stay unknown.

        Returns:
            The table, and the table row of every record.
        """
        if not self.classes or not self.ids:
            self.problems.raise_errors()
        if not self.ids:
            raise TagfillError(
                "it has no images", file=self.source, remedy="add a row for every image"
            )
        if not self.classes:
            raise TagfillError(
                "it has no classes", file=self.source, remedy="tag some of its images first"
            )
        images = tuple(dict.fromkeys(self.ids))
        if len(images) == len(self.ids):
            place, values = np.arange(len(self.ids)), self.values
        else:
            row_of = {image: row for row, image in enumerate(images)}
            place = np.array([row_of[image] for image in self.ids], dtype=np.intp)
            values = self._without_repeats(place)
        table = LabelTable(images, self.classes, values)
        self._warn_empty_classes(table)
        return table, place

    def splits(self, place: Rows, stated: Mapping[int, str]) -> dict[str, Rows]:
        """Rows of each named split.

        Args:
            place: the table row of every record.
            stated: the split of each record that names one.
        """
        owner: dict[int, int] = {}
        parts: dict[str, list[int]] = {}
        for record, given in sorted(stated.items()):
            name = usual_split(given)
            row = int(place[record])
            first = owner.setdefault(row, record)
            if first == record:
                parts.setdefault(name, []).append(row)
            elif usual_split(stated[first]) != name:
                self.problems.error(
                    f"image {self.ids[record]!r} is in split {name!r}, but in"
                    f" {stated[first]!r} by row {self.rows[first]}",
                    file=self.source,
                    row=self.rows[record],
                )
        return {name: np.array(sorted(rows), dtype=np.intp) for name, rows in parts.items()}

    def _without_repeats(self, place: Rows) -> Labels:
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

    def _report(self, record: int, others: list[int], clash: npt.NDArray[np.bool_]) -> None:
        image, row = self.ids[record], self.rows[record]
        if not clash.any():
            self.problems.warn(
                f"image {image!r} is listed again and agrees with row {self.rows[others[0]]};"
                " the rows were merged",
                file=self.source,
                row=row,
            )
            return
        column = self.values[:, int(np.flatnonzero(clash)[0])]
        other = next(one for one in others if column[one] not in (UNKNOWN, column[record]))
        self.problems.error(
            f"image {image!r} contradicts row {self.rows[other]} on {_some(self.classes, clash)}",
            file=self.source,
            row=row,
            remedy="keep one of the two rows",
        )

    def _warn_empty_classes(self, table: LabelTable) -> None:
        empty = ~(table.values == POSITIVE).any(axis=0)
        if empty.any():
            self.problems.warn(
                f"{int(empty.sum())} of {len(empty)} classes have no positive:"
                f" {_some(self.classes, empty)}",
                file=self.source,
            )


def usual_split(name: str) -> str:
    """A split's normalized name: train, val, test, or the name in the source."""
    return _SPLIT_NAMES.get(name.strip().lower(), name.strip())


def _some(names: Sequence[str], chosen: npt.NDArray[np.bool_]) -> str:
    picked = [repr(name) for name, taken in zip(names, chosen, strict=True) if taken]
    more = f" and {len(picked) - _LISTED} more" if len(picked) > _LISTED else ""
    return ", ".join(picked[:_LISTED]) + more
