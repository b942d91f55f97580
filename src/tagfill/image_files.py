"""The files of image ids: as written, or as the same name in another spelling or place.

Lists of images are written on one machine and used on another: names change their case and their
Unicode form, suffixes and leading zeros are lost, folders are flattened or added.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path, PurePath, PurePosixPath
from urllib.parse import unquote

from tagfill.errors import counted

_USUAL = (".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff", ".bmp", ".gif")
SUFFIXES = frozenset(_USUAL)
RAW_SUFFIXES = frozenset(
    {".heic", ".heif", ".avif", ".jp2", ".dng", ".cr2", ".cr3", ".nef", ".arw"}
)
"""Files that a list may name although the images are copies in a usual format."""
_SYSTEM_FOLDERS = frozenset(
    {"@eaDir", "__MACOSX", "#recycle", "$RECYCLE.BIN", "System Volume Information", "lost+found"}
)
"""Folders of thumbnails and deleted files that operating systems and file servers leave."""
_MOST_FILES = 500_000
"""In a folder with more files, names are only looked up as written."""
_NUMBER = re.compile(r"0*(\d{1,18})(?:\.0)?")
_UPLOAD = re.compile(r"[0-9a-f]{8}-(?=.)")
"""What Label Studio writes before the names of uploads."""


def find_image(root: str | Path, image: str) -> Path | None:
    """The file of an image id: the exact name, else its suffix in lower or upper case, or added."""
    path = Path(root, image)
    if not path.name:  # "/"
        return None
    if path.suffix.lower() in SUFFIXES:
        cased = (path.suffix.lower(), path.suffix.upper())
        variants = [path, *(path.with_suffix(suffix) for suffix in cased)]
    else:
        endings = (cased for suffix in _USUAL for cased in (suffix, suffix.upper()))
        variants = [path, *(path.with_name(path.name + ending) for ending in endings)]
    return next((file for file in variants if os.path.isfile(file)), None)


def find_images(
    root: str | Path, images: Sequence[str], *, workers: int | None = None
) -> list[Path | None]:
    """The files of image ids below a folder, in any spelling; see ``OtherSpellings``.

    Args:
        images: ids, relative to it.
        workers: threads; by default one for each processor.
    """
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        files = list(pool.map(partial(find_image, root), images))
    if None not in files:
        return files
    others, taken = OtherSpellings(root), set(files)
    for number, image in enumerate(images):
        if files[number] is None:
            alike = others.find(image)
            files[number] = None if alike in taken else alike
    return files


def other_names(
    root: str | Path, images: Sequence[str], paths: Sequence[Path | None]
) -> str | None:
    """A sentence on images whose files have another name than their id, apart from the suffix."""
    renamed = [
        (image, path)
        for image, path in zip(images, paths, strict=True)
        if path is not None and not _is_named(path, Path(root, image))
    ]
    if not renamed:
        return None
    image, path = renamed[0]
    return (
        f"{counted(len(renamed), 'image was', 'images were')} found under another spelling of the"
        f" name or in another folder, first {image!r} as {path.relative_to(root).as_posix()!r}"
    )


class OtherSpellings:
    """Finds the files of ids that are no file names as they are written.

    Such an id is taken for the only file with the same name in other letters (case, Unicode form),
    with another suffix, in another folder (one of the two paths ends with the other) or, for bare
    numbers, with other leading zeros. Where several files fit, none is taken.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    def find(self, image: str) -> Path | None:
        """The file of an image id."""
        if "://" in image or not image.strip():
            return None
        for name in dict.fromkeys((image, _UPLOAD.sub("", image), unquote(image))):
            file = self._alike(name, self._known)
            if file is not None:
                return file
        return None

    def _alike(self, image: str, known: dict[str, list[PurePosixPath]]) -> Path | None:
        wanted = PurePosixPath(_plain(image))
        for key in (wanted.name, _stem(wanted)):
            fitting = [file for file in known.get(key, ()) if _ends_alike(wanted, file)]
            if fitting:
                return self.root / fitting[0] if len(fitting) == 1 else None
        number = _NUMBER.fullmatch(image)
        numbered = known.get(f"#{int(number[1])}", []) if number else []
        return self.root / numbered[0] if len(numbered) == 1 else None

    @cached_property
    def _known(self) -> dict[str, list[PurePosixPath]]:
        """Files by plain name, by name without suffix, and by number; nothing if too many."""
        known: dict[str, list[PurePosixPath]] = defaultdict(list)
        for count, file in enumerate(self._files()):
            if count >= _MOST_FILES:
                return {}
            plain = PurePosixPath(_plain(str(file)))
            known[plain.name].append(file)
            known[_stem(plain)].append(file)
            number = _NUMBER.fullmatch(_stem(plain))
            if number:
                known[f"#{int(number[1])}"].append(file)
        return known

    def _files(self) -> Iterator[PurePosixPath]:
        for folder, _, names in walk_folders(self.root):
            place = PurePosixPath(folder.relative_to(self.root).as_posix())
            yield from (place / name for name in names if is_image_file(name))


def is_image_file(file: str | PurePath) -> bool:
    """Whether a file is an image by its suffix."""
    return os.path.splitext(file)[1].lower() in SUFFIXES


def walk_folders(root: str | Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Every folder once, with the sorted names of its folders and files; links are followed.

    Hidden files and folders and those of the operating system are left out.
    """
    seen: set[str] = set()
    for directory, folders, files in os.walk(root, followlinks=True):
        folders[:] = sorted(set(folders) - _SYSTEM_FOLDERS)
        folders[:] = [name for name in folders if not name.startswith(".")]
        real = os.path.realpath(directory)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        yield Path(directory), folders, sorted(name for name in files if not name.startswith("."))


def _is_named(path: Path, wanted: Path) -> bool:
    return path == wanted or wanted in (path.with_suffix(""), path.with_suffix(wanted.suffix))


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", name.strip()).casefold()


def _stem(path: PurePosixPath) -> str:
    """The name without the suffix of an image."""
    return path.stem if path.suffix in SUFFIXES | RAW_SUFFIXES else path.name


def _ends_alike(wanted: PurePosixPath, file: PurePosixPath) -> bool:
    """Whether the folders of one path are the last folders of the other."""
    first, second = wanted.parts[:-1], tuple(_plain(part) for part in file.parts[:-1])
    shared = min(len(first), len(second))
    return first[len(first) - shared :] == second[len(second) - shared :]
