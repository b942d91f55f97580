"""Files below a folder: following links but never in cycles, sorted, hidden ones left out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tagfill.image_files import is_passed_over
from tagfill.labels.formats._ids import is_text
from tagfill.labels.formats._ticks import IMAGE_SUFFIXES


def walk(path: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Every folder once, with the names of its folders and of its files."""
    seen: set[str] = set()
    for place, folders, names in os.walk(path, followlinks=True):
        folders[:] = sorted(name for name in folders if not is_passed_over(name))
        real = os.path.realpath(place)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        yield Path(place), folders, sorted(name for name in names if not name.startswith("."))


def files_below(path: Path) -> Iterator[PurePosixPath]:
    """Paths of all files, relative to the folder; names that are not text are skipped."""
    for place, _, names in walk(path):
        for name in names:
            file = (place / name).relative_to(path).as_posix()
            if is_text(file):
                yield PurePosixPath(file)


def is_image_file(file: PurePosixPath | Path) -> bool:
    """Whether a file is an image by its suffix."""
    return file.suffix.lower() in IMAGE_SUFFIXES


def subfolders(path: Path) -> list[str]:
    """Names of the folders in a folder."""
    _, folders, _ = next(walk(path), (path, [], []))
    return [name for name in folders if is_text(name)]
