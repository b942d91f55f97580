"""Sources of images: files, folders, patterns, or names on standard input."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tagfill.console import quote_name
from tagfill.image_files import SUFFIXES
from tagfill.images import iterate_images
from tagfill.remote import RemoteFile, remote_files, url_of

STANDARD_INPUT = "-"
ImageFile = Path | RemoteFile
File = TypeVar("File", Path, RemoteFile)


@dataclass(frozen=True)
class Unreadable:
    """Something that could not be predicted, and why."""

    image: str
    reason: str


def find_files(
    paths: Iterable[str], names: Iterable[str], *, suffix: str | None = None
) -> Iterator[ImageFile | Unreadable]:
    """The files a user named, one by one.

    Args:
        paths: files, folders (searched with their subfolders), URLs of both, patterns such as
            ``**/*.jpg``, or ``-`` for ``names``.
        names: files, one a line, as on standard input.
        suffix: in folders take files with this suffix instead of images.
    """
    for path in paths:
        if url := url_of(path):
            yield from _or_said(path, remote_files(url, (suffix,) if suffix else SUFFIXES), suffix)
        elif path == STANDARD_INPUT:
            yield from (Path(line.rstrip("\r\n")) for line in names if line.strip())
        elif Path(path).is_dir():
            folder = Path(path)
            listed = iter(sorted(folder.rglob(f"*{suffix}"))) if suffix else iterate_images(folder)
            yield from _or_said(str(folder), listed, suffix)
        elif not Path(path).exists() and glob.has_magic(path):
            yield from _matching(path)
        else:
            yield Path(path)


def _or_said(folder: str, files: Iterator[File], suffix: str | None) -> Iterator[File | Unreadable]:
    first = next(files, None)
    if first is None:
        yield Unreadable(quote_name(folder), f"there is no {suffix or 'image'} file in this folder")
        return
    yield first
    yield from files


def _matching(pattern: str) -> Iterator[Path | Unreadable]:
    files = [Path(name) for name in sorted(glob.iglob(pattern, recursive=True))]
    files = [file for file in files if file.is_file()]
    if not files:
        yield Unreadable(quote_name(pattern), "no file matches this pattern")
    yield from files
