"""Files below a folder: following links but never in cycles, sorted, hidden ones left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tagfill.image_files import walk_folders
from tagfill.labels.formats._ids import is_text


def files_below(path: Path) -> Iterator[PurePosixPath]:
    """Paths of all files, relative to the folder; names that are not text are skipped."""
    for place, _, names in walk_folders(path):
        for name in names:
            file = (place / name).relative_to(path).as_posix()
            if is_text(file):
                yield PurePosixPath(file)


def subfolders(path: Path) -> list[str]:
    """Names of the folders in a folder."""
    _, folders, _ = next(walk_folders(path), (path, [], []))
    return [name for name in folders if is_text(name)]
