"""Files below a folder: following links but never in cycles, sorted, hidden ones left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tagfill.image_files import walk_folders
from tagfill.labels.formats._ids import is_text


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
    """Names of the folders in a folder."""
    _, folders, _ = next(walk_folders(path), (path, [], []))
    return [name for name in folders if is_text(name)]
