"""Folders of images: the folder's name is the one positive known of each image in it.

``cat/a.jpg`` and ``cat/more/b.jpg`` show a cat. Where all top folders are called train, val, test
or the like they are splits and the classes lie below. Images beside the folders have no label.
With a mark for hierarchies, deeper folders are classes that imply those above.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from itertools import islice
from pathlib import Path, PurePosixPath

import numpy as np

from tagfill.errors import TagfillError
from tagfill.image_files import is_image_file
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._folders import (
    files_below,
    folders_below,
    hold_bands,
    subfolders,
)
from tagfill.labels.formats._merge import SPLITS, usual_split
from tagfill.labels.formats._write import known_labels, not_held, split_of_rows
from tagfill.labels.formats.base import Format, Source
from tagfill.labels.table import POSITIVE

_SHOWN = 3
_MANY_FOLDERS = 10
_NO_CLASS = re.compile(
    r"(?:photos from |fotos von )?(?:19|20)\d\d(?:[-_. ]?\d\d){0,2}|\d{3}[a-z_]{5}|dcim|.+\.info",
    re.IGNORECASE,
)
"""Names that cameras and programs give to folders: dates, 100CANON, and those of Eagle."""
_CONTAINERS = {"images", "imgs", "img", "photos", "pictures", "data", "bilder", "fotos"}
"""Names of folders that hold all others."""


def _detect(path: Path) -> bool:
    above = _folders(path, _depth(path)[0]) if path.is_dir() and not hold_bands(path) else []
    names = [name for folder in above for name in subfolders(folder)]
    containers = not set(map(str.lower, names)) - _CONTAINERS
    if containers or _hold_one_image_each([folder / name for folder in above for name in names]):
        return False
    return not all(map(_NO_CLASS.fullmatch, names)) and any(
        folder.parts and any(map(is_image_file, names)) for folder, names in folders_below(path)
    )


def _hold_one_image_each(folders: Iterable[Path]) -> bool:
    """Whether there are many folders with one image in each: such names are no classes."""
    there = [folder for folder in folders if folder.is_dir()]
    return len(there) >= _MANY_FOLDERS and all(
        sum(is_image_file(file) for file in folder.iterdir()) == 1 and not subfolders(folder)
        for folder in there
    )


def _read(source: Source) -> Dataset:
    path, hierarchy = source.path, source.options.hierarchy
    builder = LabelBuilder(source, free_tags=True)
    depth, split = _depth(path)
    for name in sorted({top for folder in _folders(path, depth) for top in subfolders(folder)}):
        if hierarchy is None:
            builder.label(name)
    strangers = unlabeled = 0
    deeper: dict[str, None] = {}
    for file in files_below(path):
        if not is_image_file(file):
            strangers += 1
            continue
        record = builder.record(str(file))
        folders = file.parts[:-1]
        builder.split(record, folders[0] if split and folders else "")
        classes = folders[depth:]
        unlabeled += not classes
        if hierarchy is not None:
            builder.paths.add(record, classes)
        elif classes:
            builder.positive(record, classes[0])
            deeper.update(dict.fromkeys(classes[1:2]))
    if unlabeled:
        source.warn(f"{unlabeled} images are in no class folder and have no label")
    if strangers:
        builder.notes.append(f"{strangers} files are not images and were skipped")
    if deeper:
        shown = ", ".join(map(repr, islice(deeper, _SHOWN)))
        builder.notes.append(
            f"folders inside class folders, such as {shown}, belong to them; --hierarchy / makes"
            " them classes that imply the folder above"
        )
    return builder.dataset(path)


def _depth(path: Path) -> tuple[int, bool]:
    """How many folders lie above the class folders, and whether the first are splits.

    One folder that holds all others, and no image itself, is no class.
    """
    tops = subfolders(path)
    split = bool(tops) and {usual_split(top) for top in tops} <= SPLITS
    depth = int(split)
    while True:
        below = _folders(path, depth + 1)
        names = {folder.name for folder in below}
        alone = len(names) == 1 and names.pop().lower() in _CONTAINERS
        if (
            not alone
            or not any(map(subfolders, below))
            or any(
                is_image_file(file) and file.is_file()
                for folder in below
                for file in folder.iterdir()
            )
        ):
            return depth, split
        depth += 1


def _folders(path: Path, depth: int) -> list[Path]:
    """The folders that many levels below a folder."""
    folders = [path]
    for _ in range(depth):
        folders = [folder / name for folder in folders for name in subfolders(folder)]
    return folders


def _write(dataset: Dataset, path: Path) -> list[str]:
    table, root = dataset.table, dataset.image_root
    if root is None:
        raise TagfillError(
            "an image folder contains the images, but their location is not known",
            remedy="set their folder with --images",
        )
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise TagfillError("the folder is not empty", file=path)
    check_classes(table.classes)
    missing = [image for image in table.images if not (root / image).is_file()]
    if missing:
        raise TagfillError(f"{len(missing)} images are missing, first {missing[0]!r}", file=root)
    names, lost = split_of_rows(dataset)
    for folder in [name for name, rows in dataset.splits.items() if len(rows)] or [""]:
        for name in table.classes:
            (path / folder / name).mkdir(parents=True, exist_ok=True)
    for row, image in enumerate(table.images):
        place = [names[row], *known_labels(table, row, POSITIVE)[:1]]
        target = path / class_path(image, [part for part in place if part])
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / image, target)
    several = int(np.count_nonzero((table.values == POSITIVE).sum(axis=1) > 1))
    if several:
        lost.append(f"{several} images have several positives; each is in the folder of its first")
    return lost + not_held(dataset)


_LONGEST = 255  # bytes in a name


def check_classes(classes: Iterable[str]) -> None:
    for name in classes:
        plain = len(PurePosixPath(name).parts) == 1 and not name.startswith(".")
        if not plain or len(name.encode("utf-8", "surrogatepass")) > _LONGEST:
            raise TagfillError(f"class {name!r} cannot be the name of a folder")


def class_path(image: str, folders: list[str]) -> str:
    """The image's path below its split and class, which its id may already begin with."""
    parts = list(PurePosixPath(image).parts)
    for folder in folders:
        if len(parts) > 1 and parts[0] == folder:
            parts.pop(0)
    return str(PurePosixPath(*folders, *parts))


FORMAT = Format(
    "image_folder",
    "image folders, named after the single known positive",
    _detect,
    _read,
    write=_write,
    last_resort=True,
    holds_negatives=False,
)
