"""Image ids: paths below the image folder, with forward slashes, whatever the source wrote."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute

from tagfill.errors import Problems
from tagfill.labels.table import Rows

_URL = r"^[A-Za-z][\w+.-]*://"
_ODD = r"^/|^\s*\z|^[A-Za-z]:[\\/]|\\|(?:^|/)\.{0,2}(?:/|\z)"
_ABSOLUTE = re.compile(r"/|[A-Za-z]:/")


def odd_ids(images: Sequence[str]) -> Rows:
    """Numbers of the ids that need attention: all but addresses and plain relative paths."""
    texts = pa.array(images, pa.string())
    odd = pa.compute.match_substring_regex(texts, _ODD)
    address = pa.compute.match_substring_regex(texts, _URL)
    return np.flatnonzero(pa.compute.and_not(odd, address).to_numpy(zero_copy_only=False))


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
    for number in odd_ids(images).tolist():
        image = images[number]
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
