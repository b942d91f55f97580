"""Shared by the official data sets: finding downloads, published order and split."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tagfill.errors import TagfillError
from tagfill.labels.dataset import Boxes, Dataset
from tagfill.labels.formats import Difficult
from tagfill.labels.split import published_split
from tagfill.labels.table import LabelTable, Rows

PUBLISHED, OURS, DIFFERS = "published", "ours", "differs"
"""Splits: as published, our own, or the published rule with other image counts."""


@dataclass(frozen=True)
class Options:
    """Options of the user.

    Args:
        keep_empty: COCO: keep images without an object, the larger of the two published sizes.
        val: Hold out the published fifth of the training images for validation.
        published_split: NUS-WIDE: folder with the published split (formatted_*.npy).
        difficult: How to count VOC objects marked "difficult".
    """

    keep_empty: bool = False
    val: bool = True
    published_split: Path | None = None
    difficult: Difficult = "negative"


@dataclass(frozen=True, eq=False)
class Prepared:
    """An official data set in the published order.

    Args:
        dataset: full labels; the training images in their published order, then the test images.
        rule: by whose rule the images are divided, ``PUBLISHED`` or ``OURS``.
        expected: images of each part in the papers, where they say.
        notes: what a user should know about order, split and labels.
    """

    dataset: Dataset
    rule: str
    expected: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def sizes(self) -> dict[str, int]:
        """Number of images of each split."""
        return {name: len(rows) for name, rows in self.dataset.splits.items()}

    @property
    def split(self) -> str:
        """``OURS``, ``PUBLISHED``, or ``DIFFERS`` where sizes are not those of the papers."""
        if self.rule == OURS or self.sizes == dict(self.expected):
            return self.rule
        return DIFFERS

    @property
    def as_published(self) -> bool:
        """Whether split and sizes are those of the papers."""
        return self.split == PUBLISHED


@dataclass(frozen=True)
class OfficialSet:
    """One official data set.

    Args:
        title: its name for people.
        read: how its download becomes a table.
        uses: the options it understands besides ``val``.
    """

    title: str
    read: Callable[[Path, Options], Prepared]
    uses: tuple[str, ...] = ()


def enumerated(names: Sequence[str]) -> str:
    """``a``, ``a and b``, or ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def first(root: Path, patterns: Iterable[str]) -> Path | None:
    """The first file or folder that a pattern below ``root`` finds."""
    return next((file for pattern in patterns for file in sorted(root.glob(pattern))), None)


def require(root: Path, needed: Mapping[str, Iterable[str]], page: str) -> list[Path]:
    """The needed files and folders below ``root``.

    Args:
        root: where to look.
        needed: patterns by the name a user knows the file by.
        page: where people get them.

    Raises:
        TagfillError: names all that are missing, and the page.
    """
    files = {name: first(root, patterns) for name, patterns in needed.items()}
    refuse_missing({name: 1 for name, path in files.items() if path is None}, root, page)
    return [path for path in files.values() if path is not None]


def refuse_missing(missing: Mapping[str, int], root: Path, page: str) -> None:
    """Raise where something is missing.

    Args:
        missing: how many files each of the missing things is.
        root: where they should be.
        page: where people get them.
    """
    if missing:
        verb, pronoun = ("is", "it") if sum(missing.values()) == 1 else ("are", "them")
        raise TagfillError(
            f"{enumerated(list(missing))} {verb} missing",
            file=root,
            remedy=f"get {pronoun} from {page}",
        )


def arranged(dataset: Dataset, train: Rows, test: Rows, *, val: bool) -> Dataset:
    """Training images, then test images, each in the given order, with the published 80/20 split.

    Args:
        dataset: full labels.
        train: rows of the official training images in their published order.
        test: rows of the test images.
        val: hold out the last fifth of the published permutation.
    """
    order = np.concatenate([train, test])
    splits = {"train": np.arange(len(train))}
    if val:
        splits["train"], splits["val"] = published_split(len(train))
    splits["test"] = np.arange(len(train), len(order))
    boxes = dataset.boxes
    if boxes is not None:
        place = np.full(len(dataset.table), -1, dtype=np.intp)
        place[order] = np.arange(len(order))
        row = place[boxes.image]
        boxes = Boxes(row[row >= 0], boxes.label[row >= 0], boxes.xywh[row >= 0])
    table = dataset.table.take(order)
    return replace(dataset, table=table, truth=None, splits=splits, boxes=boxes)


def prepared(
    dataset: Dataset,
    train: Rows,
    test: Rows,
    options: Options,
    rule: str,
    expected: Mapping[str, int] | None = None,
    notes: Iterable[str] = (),
) -> Prepared:
    """A data set arranged as the options say."""
    divided = arranged(dataset, train, test, val=options.val)
    return Prepared(divided, rule, expected or {}, tuple(notes))


def joined(first: Dataset, second: Dataset) -> Dataset:
    """The images of two data sets of the same classes, one after the other."""
    if first.table.classes != second.table.classes:
        raise TagfillError(
            f"the classes differ from those of {first.source.name}", file=second.source
        )
    table = LabelTable(
        first.table.images + second.table.images,
        first.table.classes,
        np.concatenate([first.table.values, second.table.values]),
    )
    boxes = None
    if first.boxes is not None and second.boxes is not None:
        boxes = Boxes(
            np.concatenate([first.boxes.image, second.boxes.image + len(first.table)]),
            np.concatenate([first.boxes.label, second.boxes.label]),
            np.concatenate([first.boxes.xywh, second.boxes.xywh]),
        )
    return replace(first, table=table, boxes=boxes, splits={})
