"""The one label code of the project: 1 = positive, 0 = negative, -1 = unknown."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tagfill.arrays import Mask
from tagfill.errors import TagfillError

POSITIVE, NEGATIVE, UNKNOWN = 1, 0, -1

Labels = npt.NDArray[np.int8]
"""[N, K] of 1, 0, -1."""
Hierarchy = Mapping[str, tuple[str, ...]]
"""The classes each class directly implies."""
Rows = npt.NDArray[np.intp]
"""Row numbers into a table."""


@dataclass(frozen=True, eq=False, repr=False)
class LabelTable:
    """Which image has which tag, as far as known.

    Args:
        images: N image ids, each once: paths relative to the image folder, with forward slashes.
        classes: K class names, each once.
        values: [N, K] int8, 1 positive, 0 negative, -1 unknown.
        hierarchy: the classes each class directly implies; it goes along, and changes no label.
        reviewed: [N, K] labels that were answered in a review and had not been written before;
            None if that is not recorded.

    >>> table = LabelTable(("a.jpg", "b.jpg"), ("cat", "dog"), np.array([[1, -1], [-1, 0]]))
    >>> len(table), table.positives, table.unknowns
    (2, 1, 2)
    """

    images: tuple[str, ...]
    classes: tuple[str, ...]
    values: Labels
    hierarchy: Hierarchy = field(default_factory=dict)
    reviewed: Mask | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "images", tuple(self.images))
        object.__setattr__(self, "classes", tuple(self.classes))
        object.__setattr__(self, "values", _checked_values(self.values))
        _check_names("image id", self.images)
        _check_names("class", self.classes)
        if self.values.shape != (len(self.images), len(self.classes)):
            raise TagfillError(
                f"labels of shape {self.values.shape} do not fit {len(self.images)} images"
                f" and {len(self.classes)} classes"
            )
        if not self.classes:
            raise TagfillError("a label table needs at least one class")
        if self.reviewed is not None and self.reviewed.shape != self.values.shape:
            raise TagfillError(
                f"reviewed has shape {self.reviewed.shape}, the labels {self.values.shape}"
            )
        self.values.setflags(write=False)

    def __len__(self) -> int:
        return len(self.images)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelTable):
            return NotImplemented
        return (
            self.images == other.images
            and self.classes == other.classes
            and np.array_equal(self.values, other.values)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"LabelTable({len(self):,} images, {len(self.classes):,} classes: {self.positives:,}"
            f" positive, {self.negatives:,} negative, {self.unknowns:,} unknown)"
        )

    def _repr_html_(self) -> str:
        from tagfill.labels.display import table_html

        return table_html(self, repr(self))

    @property
    def positives(self) -> int:
        """How many labels are positive."""
        return int(np.count_nonzero(self.values == POSITIVE))

    @property
    def negatives(self) -> int:
        """How many labels are negative."""
        return int(np.count_nonzero(self.values == NEGATIVE))

    @property
    def unknowns(self) -> int:
        """How many labels are unknown."""
        return int(np.count_nonzero(self.values == UNKNOWN))

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Row number of every image id."""
        return {image: row for row, image in enumerate(self.images)}

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of ids, classes, values and what was reviewed."""
        digest = hashlib.sha256()
        for names in (self.images, self.classes):
            digest.update(len(names).to_bytes(8, "little"))
            for name in names:
                encoded = name.encode()
                digest.update(len(encoded).to_bytes(4, "little") + encoded)
        digest.update(np.ascontiguousarray(self.values).tobytes())
        if self.reviewed is not None:
            digest.update(np.packbits(self.reviewed).tobytes())
        return digest.hexdigest()

    def with_values(self, values: npt.ArrayLike) -> LabelTable:
        """The same images and classes with other labels."""
        return replace(self, values=np.asarray(values))

    def take(self, rows: npt.ArrayLike) -> LabelTable:
        """The images of the given row numbers (or boolean mask), in that order."""
        index = np.asarray(rows)
        index = np.flatnonzero(index) if index.dtype == bool else index.astype(np.intp)
        images = tuple(self.images[row] for row in index)
        reviewed = None if self.reviewed is None else self.reviewed[index]
        return replace(self, images=images, values=self.values[index], reviewed=reviewed)

    def select(self, images: Iterable[str]) -> LabelTable:
        """The named images, in the given order."""
        wanted = list(images)
        missing = [image for image in wanted if image not in self.row_of]
        if missing:
            raise TagfillError(f"{len(missing)} images are not in the table, first: {missing[0]!r}")
        return self.take([self.row_of[image] for image in wanted])

    def with_classes(self, classes: Sequence[str]) -> LabelTable:
        """The same images over the given classes; classes new to the table are unknown."""
        columns = {name: column for column, name in enumerate(self.classes)}
        values = np.full((len(self), len(classes)), UNKNOWN, dtype=np.int8)
        reviewed = None if self.reviewed is None else np.zeros(values.shape, dtype=bool)
        for column, name in enumerate(classes):
            if name in columns:
                values[:, column] = self.values[:, columns[name]]
                if reviewed is not None and self.reviewed is not None:
                    reviewed[:, column] = self.reviewed[:, columns[name]]
        return replace(self, classes=tuple(classes), values=values, reviewed=reviewed)

    def merge(self, other: LabelTable) -> LabelTable:
        """Union of two tables; what one leaves unknown the other may fill in.

        Raises:
            TagfillError: an image is positive in one table and negative in the other.
        """
        classes = tuple(dict.fromkeys(self.classes + other.classes))
        images = tuple(dict.fromkeys(self.images + other.images))
        row_of = {image: row for row, image in enumerate(images)}
        values = np.full((len(images), len(classes)), UNKNOWN, dtype=np.int8)
        values[: len(self)] = self.with_classes(classes).values
        rows = np.array([row_of[image] for image in other.images], dtype=np.intp)
        theirs, ours = other.with_classes(classes).values, values[rows]
        clash = np.argwhere((ours != UNKNOWN) & (theirs != UNKNOWN) & (ours != theirs))
        if len(clash):
            row, column = clash[0]
            raise TagfillError(
                f"{len(clash)} labels contradict each other, first: image {other.images[row]!r},"
                f" class {classes[column]!r}"
            )
        values[rows] = np.where(theirs == UNKNOWN, ours, theirs)
        return LabelTable(images, classes, values, {**self.hierarchy, **other.hierarchy})


def _checked_values(values: npt.ArrayLike) -> Labels:
    array = np.asarray(values)
    if array.ndim != 2:
        raise TagfillError(f"labels must be a matrix [images, classes], got shape {array.shape}")
    codes = (POSITIVE, NEGATIVE, UNKNOWN)
    if np.issubdtype(array.dtype, np.integer):  # the quicker comparison
        fits = not array.size or bool(array.min() >= UNKNOWN and array.max() <= POSITIVE)
    else:
        fits = bool(np.isin(array, codes).all())
    if not fits:
        bad = array[~np.isin(array, codes)][0]
        raise TagfillError(f"labels must be 1 (positive), 0 (negative) or -1 (unknown), got {bad}")
    checked: Labels = np.array(array, dtype=np.int8, order="C", copy=True)
    return checked


def _check_names(kind: str, names: tuple[str, ...]) -> None:
    if len(set(names)) != len(names):
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise TagfillError(f"{kind} {name!r} appears twice")
            seen.add(name)
    if "" in names:
        raise TagfillError(f"an empty {kind} is not allowed")
