"""Folders of images: the files below them, and label files of single images beside or near them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath

from tagfill.image_files import is_image_file, walk_folders
from tagfill.labels.formats._ids import is_text
from tagfill.labels.formats._merge import SPLITS, usual_split


def files_below(path: Path) -> Iterator[PurePosixPath]:
    """Paths of all files, relative to the folder; names that are not text are skipped."""
    for folder, names in folders_below(path):
        for name in names:
            yield folder / name


def folders_below(path: Path) -> Iterator[tuple[PurePosixPath, list[str]]]:
    """The folder itself and all below it, relative to it, with the names of their files."""
    for place, _, names in walk_folders(path):
        folder = place.relative_to(path).as_posix()
        if is_text(folder):
            yield PurePosixPath(folder), [name for name in names if is_text(name)]


def subfolders(path: Path) -> list[str]:
    _, folders, _ = next(walk_folders(path), (path, [], []))
    return [name for name in folders if is_text(name)]


_BAND = re.compile(r"_B\d[\dA]?\.tiff?", re.IGNORECASE)


def hold_bands(path: Path) -> bool:
    """Whether folders hold the bands of one image each, as those of satellites do."""
    images = ((f.name, n) for f, names in folders_below(path) for n in names if is_image_file(n))
    some = list(islice(images, _LOOKED_AT))
    return bool(some) and all(
        folder and name.startswith(folder) and _BAND.fullmatch(name[len(folder) :])
        for folder, name in some
    )


Pair = tuple[PurePosixPath, Path | None]
"""An image, relative to its folder, and the file about it."""

_IMAGE_FOLDERS = {"images", "imgs", "img", "jpegimages"}
_LABEL_FOLDERS = ("labels", "annotations", "Annotations", "captions", "tags", "xmls", "ann")
_LOOKED_AT, _READ = 300, 30
_TAKEOUT = 46
"""Letters after which Google Takeout cuts names."""
_SHARE_AMONG_FOLDERS = 0.1
"""From this share of images with files, folders are not class folders."""


def labeled_images(path: Path, suffixes: Sequence[str]) -> Iterator[Pair]:
    """Every image below a folder, with its file: ``a.txt`` or ``a.jpg.txt`` for ``a.jpg``."""
    known = {folder: set(names) for folder, names in folders_below(path)}
    for folder, names in known.items():
        places = [(place, known[place]) for place in _folders(folder) if place in known]
        for name in sorted(filter(is_image_file, names)):
            takeout = f"{name}.supplemental-metadata"[:_TAKEOUT]
            stems = (name.rpartition(".")[0], name, takeout, f"{name}___objects")
            wanted = [stem + suffix for stem in stems for suffix in suffixes]
            files = (
                path / place / file for place, there in places for file in wanted if file in there
            )
            yield folder / name, next(files, None)


def sample(path: Path, suffixes: Sequence[str]) -> list[Path]:
    """Some files about images in a folder that are not empty; none if hardly any image has one."""
    pairs = list(islice(labeled_images(path, suffixes), _LOOKED_AT)) if path.is_dir() else []
    files = [file for _, file in pairs if file is not None]
    nested = any(len(image.parts) > 1 for image, _ in pairs)
    if nested and len(files) < _SHARE_AMONG_FOLDERS * len(pairs):
        return []
    return [file for file in files if file.stat().st_size][:_READ]


def split_of(image: PurePosixPath) -> str:
    """The split that a folder above an image names, or ''."""
    names = (usual_split(part) for part in image.parts[:-1])
    return next((name for name in names if name in SPLITS), "")


def _folders(folder: PurePosixPath) -> Iterator[PurePosixPath]:
    """The folder of images, and those that have ``labels`` or the like in place of ``images``."""
    parts = folder.parts
    yield folder
    for place, part in enumerate(parts):
        if part.lower() in _IMAGE_FOLDERS:
            for name in _LABEL_FOLDERS:
                yield PurePosixPath(*parts[:place], name, *parts[place + 1 :])
