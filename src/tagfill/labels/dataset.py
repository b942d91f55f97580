"""Content of a label source: the table, and what else its format holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tagfill.array_files import read_array
from tagfill.arrays import Floats, Matrix
from tagfill.errors import Problem, TagfillError
from tagfill.labels.table import Hierarchy, LabelTable, Rows

LARGEST = 1e18
"""Squares of larger features do not fit into single precision."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Where things are: one row per box, in fractions of the image's width and height.

    Args:
        image: [M] row number of the image in the label table.
        label: [M] column number of the class.
        xywh: [M, 4] left, top, width, height, each in 0..1.
    """

    image: Rows
    label: Rows
    xywh: Floats

    def __len__(self) -> int:
        return len(self.image)

    def take(self, rows: Rows, images: int) -> Boxes:
        """The boxes of some of all images, which are renumbered to their places in ``rows``."""
        place = np.full(images, -1, dtype=np.intp)
        place[rows] = np.arange(len(rows))
        kept = place[self.image] >= 0
        return Boxes(place[self.image][kept], self.label[kept], self.xywh[kept])


@dataclass(frozen=True, eq=False)
class Suggestions:
    """Unconfirmed tags proposed by a model: one row per tag.

    Args:
        image: [M] row number of the image in the label table.
        label: [M] column number of the class.
        score: [M] probability in 0..1.
        model: which model proposed them.
    """

    image: Rows
    label: Rows
    score: Floats
    model: str = "tagfill"

    def __len__(self) -> int:
        return len(self.image)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Labels read from one source.

    Args:
        table: the observed labels of all images.
        source: the file or folder they were read from.
        format: name of the format (a module of ``tagfill.labels.formats``).
        splits: row numbers of each named split ("train", "val", "test"); empty where the source
            names none.
        truth: the full labels behind masked ones, where the source has both.
        boxes: object boxes, where the source has them.
        image_root: folder the image ids are relative to, where the source implies it.
        features: files of each named feature set; their rows, one file after the other, are the
            rows of the table (see ``load_features``).
        suggestions: tags a model proposed, where the source has them.
        free_tags: whether people typed the classes freely, so that variants of one may be among
            them.
        notes: decisions of the reader a user should see, such as what absence means.
        problems: problems found while reading, all of them handled.
    """

    table: LabelTable
    source: Path
    format: str
    splits: Mapping[str, Rows] = field(default_factory=dict)
    truth: LabelTable | None = None
    boxes: Boxes | None = None
    image_root: Path | None = None
    features: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    suggestions: Suggestions | None = None
    free_tags: bool = False
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    def __repr__(self) -> str:
        splits = ", ".join(f"{name} {len(rows):,}" for name, rows in self.splits.items())
        place = f"Dataset({str(self.source)!r}, {self.format}"
        return f"{place}{', ' if splits else ''}{splits}, {self.table!r})"

    def _repr_html_(self) -> str:
        from tagfill.labels.display import table_html

        return table_html(self.table, repr(self))

    @property
    def hierarchy(self) -> Hierarchy:
        """The classes each class directly implies, where the source has paths of tags."""
        return self.table.hierarchy

    @property
    def suggested(self) -> dict[int, dict[str, float]]:
        """Scores of the suggested tags of every row that has some."""
        scores: dict[int, dict[str, float]] = {}
        if self.suggestions is not None:
            places = (self.suggestions.image.tolist(), self.suggestions.label.tolist())
            for row, column, score in zip(*places, self.suggestions.score.tolist(), strict=True):
                scores.setdefault(row, {})[self.table.classes[column]] = score
        return scores

    def split(self, split: str) -> LabelTable:
        """The observed labels of one named split."""
        if split not in self.splits:
            known = ", ".join(self.splits) or "none"
            raise TagfillError(
                f"there is no split {split!r} (splits here: {known})", file=self.source
            )
        return self.table.take(self.splits[split])

    def load_features(self, name: str | None = None) -> Matrix:
        """The feature matrix [N, D] of all images in table order.

        Args:
            name: the feature set; may be left out where there is only one.
        """
        if name is None and len(self.features) == 1:
            (name,) = self.features
        if name is None or name not in self.features:
            known = ", ".join(self.features) or "none"
            raise TagfillError(
                f"there is no feature set {name!r} (feature sets here: {known})",
                file=self.source,
                remedy="name one of these, or a .npy file with one row per image",
            )
        return load_features(self.features[name], self.table.images)


def load_features(files: Sequence[Path], images: Sequence[str]) -> Matrix:
    """The rows of some .npy files, one file after the other, for the images in order.

    Raises:
        TagfillError: a file is no matrix of usual numbers, or the rows are not those of the
            images.
    """
    matrices = [_matrix(file) for file in files]
    widths = {matrix.shape[1] for matrix in matrices}
    if len(widths) > 1:
        listed = " and ".join(str(matrix.shape[1]) for matrix in matrices)
        raise TagfillError(f"the files have {listed} features per image", file=files[-1])
    whole: Matrix = matrices[0] if len(matrices) == 1 else np.concatenate(matrices)
    if len(whole) != len(images):
        raise TagfillError(
            f"there are {len(whole):,} rows of features for {len(images):,} images",
            file=files[0],
            remedy="give one row per image, in the order of the labels",
        )
    high, low = (part.astype(np.float64) for part in (whole.max(axis=1), whole.min(axis=1)))
    bad = ~(high < LARGEST) | ~(low > -LARGEST)  # NaN is neither
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        ends = np.cumsum([len(matrix) for matrix in matrices])
        number = int(np.searchsorted(ends, first, side="right"))
        raise TagfillError(
            f"{int(bad.sum()):,} rows of features hold NaN, infinity or numbers beyond"
            f" {LARGEST:g}, first: {images[first]!r}",
            file=files[number],
            row=first - int(ends[number]) + len(matrices[number]),
            remedy="compute them again, or leave these images out",
        )
    return whole


def _matrix(file: Path) -> Matrix:
    matrix = read_array(file)
    if matrix.dtype.kind not in "fiu":
        raise TagfillError("does not hold an array of numbers", file=file)
    if matrix.ndim != 2 or not matrix.shape[1]:
        raise TagfillError(
            f"features of shape {matrix.shape} are not a matrix [images, features]", file=file
        )
    return matrix
