"""Image ids: paths below the image folder, with forward slashes, whatever the source wrote."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Sequence
from pathlib import Path

from tagfill.errors import Problems

_URL = re.compile(r"[A-Za-z][\w+.-]*://")
_ODD = re.compile(r"^/|^\s*$|^[A-Za-z]:[\\/]|\\|(?:^|/)\.{0,2}(?:/|$)")
_ABSOLUTE = re.compile(r"/|[A-Za-z]:/")


def is_plain(image: str) -> bool:
    """Whether an id needs no attention: a relative path in its simplest spelling, or an address."""
    return _ODD.search(image) is None or _URL.match(image) is not None


def clean_ids(
    images: Sequence[str],
    rows: Sequence[int | None],
    source: Path,
    root: Path | None,
    problems: Problems,
) -> list[str]:
    """Bring ids into their simplest form; ids that leave the image folder are errors.

    An absolute id, or one with ``..`` seen from the label file, that lies inside ``root`` is made
    relative to it.
    """
    cleaned = list(images)
    respelled: list[int] = []
    for number, image in enumerate(images):
        if is_plain(image):
            continue
        simple = posixpath.normpath(image.replace("\\", "/"))
        if not image.strip() or simple == ".":
            problems.error("there is no image id", file=source, row=rows[number])
            cleaned[number] = f"(no id, record {number + 1})"
            continue
        if _ABSOLUTE.match(simple) or simple.split("/", 1)[0] == "..":
            simple = _inside(simple, source, root) or _escaped(
                image, rows[number], source, root, problems
            )
        if simple != image:
            cleaned[number] = simple
            respelled.append(number)
    if respelled:
        first = respelled[0]
        problems.warn(
            f"{len(respelled)} image ids were respelled as plain paths below the image folder,"
            f" first {images[first]!r} as {cleaned[first]!r}",
            file=source,
            row=rows[first],
        )
    return cleaned


def find_root(source: Path, images: Sequence[str]) -> Path | None:
    """The folder beside a label file in which its first images lie, if it is one of the usual."""
    folder = source if source.is_dir() else source.parent
    sample = images[:3]
    for candidate in (folder, folder / "images"):
        if sample and all(os.path.isfile(candidate / image) for image in sample):
            return candidate
    return None


def _inside(simple: str, source: Path, root: Path | None) -> str | None:
    if root is None:
        return None
    full, base = os.path.abspath(source.parent / simple), os.path.abspath(root)
    if os.path.commonpath([full, base]) != base or full == base:
        return None
    return Path(os.path.relpath(full, base)).as_posix()


def _escaped(
    image: str, row: int | None, source: Path, root: Path | None, problems: Problems
) -> str:
    place = "outside the image folder" if root else "not below an image folder"
    problems.error(
        f"image id {image!r} is {place}",
        file=source,
        row=row,
        remedy="write ids relative to the image folder, or name that folder with --images",
    )
    return image
