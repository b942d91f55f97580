"""From a label source to training, validation and test splits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tagfill.arrays import Mask, Matrix
from tagfill.errors import TagfillError, counted
from tagfill.image_files import find_image, find_images, other_names
from tagfill.images import unreadable
from tagfill.labels import POSITIVE, Dataset, Labels, LabelTable, Rows
from tagfill.labels.dataset import load_features
from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels
from tagfill.labels.packed import unpacked
from tagfill.labels.split import published_split, stratified_split
from tagfill.labels.stats import Regime, Statistics
from tagfill.remote import images_beside, local_file, local_images
from tagfill.train.cache import FeatureRows, content_hashes, known_hashes, taken
from tagfill.train.config import DataConfig, is_feature_file

Sources = Mapping[str, Dataset]
"""Label files by path, as they were read."""
FEW_IMAGES = 30
MISSING_TOLERATED = 0.5
"""Share of images that may be missing before the image folder counts as wrong."""


@dataclass(frozen=True, eq=False)
class Split:
    """Images of one split.

    Args:
        truth: [N, K] the full labels behind them, where known.
        paths: the image files, unless features are given.
    """

    table: LabelTable
    truth: Labels | None = field(default=None, repr=False)
    paths: tuple[Path, ...] | None = field(default=None, repr=False)
    features: Matrix | FeatureRows | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def eval_labels(self) -> Labels:
        """What scores are compared with: the truth where it is known, else the observed labels."""
        return self.table.values if self.truth is None else self.truth

    @property
    def eval_reviewed(self) -> Mask | None:
        return self.table.reviewed if self.truth is None else None

    def take(self, rows: npt.ArrayLike) -> Split:
        """Some of the images."""
        index = np.asarray(rows)
        index = np.flatnonzero(index) if index.dtype == bool else index
        return Split(
            self.table.take(index),
            None if self.truth is None else self.truth[index],
            None if self.paths is None else tuple(self.paths[row] for row in index),
            None if self.features is None else taken(self.features, index),
        )


@dataclass(frozen=True, eq=False)
class TrainingData:
    """All splits of a run, over the same classes.

    Args:
        sources: the label files as they were read.
    """

    train: Split
    val: Split | None
    test: Split | None
    notes: tuple[str, ...] = field(default=(), repr=False)
    sources: Sources = field(default_factory=dict, repr=False)

    @property
    def classes(self) -> tuple[str, ...]:
        return self.train.table.classes

    @property
    def splits(self) -> dict[str, Split]:
        named = {"train": self.train, "val": self.val, "test": self.test}
        return {name: split for name, split in named.items() if split is not None}

    @property
    def sizes(self) -> dict[str, int]:
        return {name: len(split) for name, split in self.splits.items()}

    @property
    def regime(self) -> Regime:
        return Statistics.of(self.train.table).regime

    @property
    def content_hash(self) -> str:
        """Changes when any label of any split changes."""
        return "-".join(split.table.content_hash[:16] for split in self.splits.values())


def prepare(config: DataConfig, sources: Sources | None = None) -> TrainingData:
    """Read labels, hold out validation and test images, and find the image files.

    Args:
        sources: label files that have been read already, with the same settings.
    """
    read = _Reader(config, dict(sources or {}))
    source = read(config.labels)
    notes = list(source.notes)
    whole = _whole(source, config, read)
    rows = _held_out(source, config, notes)
    splits: dict[str, Split | None] = {name: whole.take(index) for name, index in rows.items()}
    if whole.features is None:
        root = _image_root(source, config.images)
        splits = {name: _with_paths(split, root, notes) for name, split in splits.items() if split}
    for name, path in (("val", config.val), ("test", config.test)):
        if path is not None:
            splits[name] = _other(config, path, name, whole, read, notes)
    train = splits.get("train")
    if train is None or not len(train):
        raise TagfillError(
            "there are no images left to train on",
            file=config.labels,
            remedy="name another label file, or hold out fewer images",
        )
    for name in ("val", "test"):
        split = splits.get(name)
        shared = set(split.table.images).intersection(train.table.images) if split else set()
        if shared:
            raise TagfillError(
                f"{len(shared)} {name} images are training images too, first: {min(shared)!r}",
                remedy="remove them from one of the two",
            )
    _check_enough(train, config, notes)
    return TrainingData(train, splits.get("val"), splits.get("test"), tuple(notes), read.sources)


def _check_enough(train: Split, config: DataConfig, notes: list[str]) -> None:
    """Refuse labels without contrast; warn of few images."""
    if (train.table.values == POSITIVE).all() and train.truth is None:
        tags = _listed(list(train.table.classes))
        raise TagfillError(
            f"every training image has every tag ({tags}): there is nothing to learn",
            file=config.labels,
            remedy="add images without the tag, or more tags",
        )
    if len(train) < FEW_IMAGES:
        notes.append(
            f"warning: there are only {len(train)} images to train on; metrics will mean little"
            f" (use about {FEW_IMAGES} or more)"
        )


@dataclass(frozen=True)
class _Reader:
    """Reads label files with the settings of a run, each once."""

    config: DataConfig
    sources: dict[str, Dataset]

    def __call__(self, path: str) -> Dataset:
        if path not in self.sources:
            own = self.config.format if path == self.config.labels else None
            options = read_options(self.config)
            self.sources[path] = load_labels(path, format=own, options=options)
        return self.sources[path]


def read_options(config: DataConfig) -> ReadOptions:
    """How the label files of a run are read."""
    return ReadOptions(
        absent=config.absent,
        difficult=config.difficult,
        image_root=None if config.images is None else Path(config.images),
        **config.layout(),
    )


def _whole(source: Dataset, config: DataConfig, read: _Reader) -> Split:
    truth = source.truth
    if config.truth is not None:
        truth = read(config.truth).table.select(source.table.images)
        if not set(truth.classes) & set(source.table.classes):
            raise TagfillError("no class in common with the training labels", file=config.truth)
        truth = truth.with_classes(source.table.classes)
    features = None
    if config.features is not None and is_feature_file(config.features):
        features = load_features([local_file(config.features)], source.table.images)
    elif config.images is None if source.features else config.features is not None:
        features = source.load_features(config.features)
    return Split(source.table, None if truth is None else truth.values, features=features)


def image_paths(table: LabelTable, source: Dataset, images: Path | None) -> tuple[Path, ...]:
    """The files of all images of a table; a missing one is an error."""
    notes: list[str] = []
    split = _with_paths(Split(table), _image_root(source, images), notes)
    if len(split) < len(table):
        raise TagfillError(notes[-1], file=source.source, remedy="set it with --images")
    return split.paths or ()


def readable(
    table: LabelTable,
    source: Dataset,
    images: Sequence[Path | None],
    fill: Callable[[Sequence[Path]], None] = lambda paths: None,
) -> tuple[Split, list[str]]:
    """The readable images of a table, in the first folder that has most of its images.

    Args:
        table: some or all images of the source.
        source: implies a folder where none is given.
        images: folders to try; None is the implied one.
        fill: computes features of the files first, where needed.

    Returns:
        The images found, and what was left out.
    """
    failures: list[TagfillError] = []
    for folder in images:
        notes: list[str] = []
        try:
            split = _with_paths(Split(table), _image_root(source, folder), notes)
        except TagfillError as error:
            failures.append(error)
            continue
        fill(split.paths or ())
        split = _without_unreadable(split, "", known_hashes(), notes)
        if not len(split):
            raise TagfillError("none of the images can be decoded", file=source.source)
        return split, notes
    raise failures[0]


def _image_root(source: Dataset, images: str | Path | None) -> Path:
    if images is not None:
        return Path(images)
    if source.image_root is not None:
        return source.image_root
    inside = unpacked(source)
    if inside is not None:
        return inside
    remote = images_beside(source.source)
    if remote is not None:
        return remote
    folder = source.source if source.source.is_dir() else source.source.parent
    return next((path for path in (folder / "images", folder) if path.is_dir()), folder)


def _with_paths(split: Split, root: Path, notes: list[str]) -> Split:
    """Find the files; a few missing ones are reported and left out, many are an error."""
    root = local_images(root, split.table.images)
    if not root.is_dir():
        raise TagfillError("no such image folder", file=root, remedy="set it with --images")
    images = split.table.images
    if all(image.startswith(f"{root.name}/") for image in images) and not find_image(
        root, images[0]
    ):
        root = root.parent  # the ids name the image folder themselves, as in ``photos/a.jpg``
    paths = find_images(root, images)
    missing = {image for image, path in zip(images, paths, strict=True) if path is None}
    if len(missing) > MISSING_TOLERATED * len(split):
        raise TagfillError(
            f"{len(missing)} of {len(split)} images are missing, first: {sorted(missing)[0]!r}",
            file=root,
            remedy="set the image folder with --images",
        )
    respelled = other_names(root, images, paths)
    if respelled:
        notes.append(respelled)
    if missing:
        notes.append(f"{len(missing)} images are missing and left out: {_listed(sorted(missing))}")
        split = split.take([path is not None for path in paths])
    return replace(split, paths=tuple(path for path in paths if path is not None))


def without_unreadable(data: TrainingData) -> TrainingData:
    """Leave out and report images that cannot be decoded; those with features can."""
    known, notes = known_hashes(), list(data.notes)
    splits: dict[str, Split | None] = {"val": None, "test": None}
    for name, split in data.splits.items():
        splits[name] = _without_unreadable(split, f"{name} ", known, notes)
    train = splits["train"]
    if train is None or not len(train):
        raise TagfillError("none of the training images can be decoded")
    return replace(data, train=train, val=splits["val"], test=splits["test"], notes=tuple(notes))


def _without_unreadable(split: Split, kind: str, known: set[str], notes: list[str]) -> Split:
    if split.paths is None:
        return split
    hashes = content_hashes(split.paths)
    new = [path for path, digest in zip(split.paths, hashes, strict=True) if digest not in known]
    broken = set(unreadable(new))
    if not broken:
        return split
    names = _listed(sorted(map(str, broken)))
    images = counted(len(broken), f"{kind}image")
    notes.append(f"left out: {images} that cannot be decoded: {names}")
    return split.take([path not in broken for path in split.paths])


def _held_out(source: Dataset, config: DataConfig, notes: list[str]) -> dict[str, Rows]:
    """Rows of each split: from the source, else a share of the training images."""
    rows: dict[str, Rows] = dict(source.splits) or {"train": np.arange(len(source.table))}
    unused = sorted(set(rows) - {"train", "val", "test"})
    if unused:
        notes.append(f"not used: split {', '.join(unused)}")
    rows = {name: rows[name] for name in ("train", "val", "test") if name in rows}
    if config.val_split != "published":
        names = np.array(source.table.images)  # the order of the file does not matter
        rows = {name: at[np.argsort(names[at], kind="stable")] for name, at in rows.items()}
    if "train" not in rows:
        raise TagfillError(
            "the source has splits but none is called train",
            file=source.source,
            remedy=f"its splits: {', '.join(source.splits)}",
        )
    if "val" in rows or config.val is not None or config.val_fraction <= 0:
        return rows
    labeled, share, seed = rows["train"], config.val_fraction, config.split_seed
    if config.val_split == "published":
        train, val = published_split(len(labeled), share, seed)
    else:
        drawn = stratified_split(
            source.table.take(labeled), {"train": 1 - share, "val": share}, seed
        )
        train, val = drawn["train"], drawn["val"]
    notes.append(
        f"validation: {len(val)} of {len(labeled)} training images held out"
        f" ({config.val_split} split, seed {seed})"
    )
    return {**rows, "train": labeled[train], "val": labeled[val]}


def _other(
    config: DataConfig, path: str, name: str, whole: Split, read: _Reader, notes: list[str]
) -> Split:
    """A split from its own source, aligned to the training classes.

    If that source has a split of the same name, only that one is used.
    """
    source, classes = read(path), whole.table.classes
    extra = sorted(set(source.table.classes) - set(classes))
    if extra:
        notes.append(
            f"{path}: classes that are not in the training labels are left out: {_listed(extra)}"
        )
    if set(extra) == set(source.table.classes):
        raise TagfillError("no class in common with the training labels", file=path)
    truth = None if source.truth is None else source.truth.with_classes(classes).values
    given = bool(source.features) and config.images is None
    if given is not (whole.features is not None):
        raise TagfillError(
            f"{name} images and training images must both come as files or both as features",
            file=path,
            remedy=f"leave out --{name}, or give both in the same form",
        )
    matrix = source.load_features(config.features) if given else None
    split = Split(source.table.with_classes(classes), truth, features=matrix)
    if name in source.splits:
        split = split.take(source.splits[name])
        notes.append(f"{name}: split {name!r} of {path}")
    return split if given else _with_paths(split, _image_root(source, config.images), notes)


def _listed(names: list[str], shown: int = 5) -> str:
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more
