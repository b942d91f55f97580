"""Small label files and images, and what is read from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from tagfill.labels import Dataset
from tagfill.labels.formats import Absent, ReadOptions
from tagfill.labels.io import load_labels

WIDE = {"a.jpg": {"cat": 1, "dog": 0}, "b.jpg": {"cat": 0, "dog": 1}}
TAGS = {"a.jpg": {"cat": 1, "dog": 1}, "b.jpg": {"dog": 1}}
LISTED = {**TAGS, "c.jpg": {}}
TICKED = {"a.jpg": {"cat": 1, "dog": 0}, "b.jpg": {"cat": 1}, "c.jpg": {"dog": 1}}
ROWS = [(n, [["cat"], ["dog", "cat"], ["polar bear", "dog"]][n % 3]) for n in range(9)]
"""The tags of nine images by their numbers."""


def known(dataset: Dataset) -> dict[str, dict[str, int]]:
    table = dataset.table
    return {
        image: {n: int(v) for n, v in zip(table.classes, row, strict=True) if v != -1}
        for image, row in zip(table.images, table.values, strict=True)
    }


def written(
    folder: Path, text: str | Sequence[str], name: str = "l.csv", encoding: str = "utf-8"
) -> Path:
    """A file with a text, or with its lines."""
    path, whole = folder / name, text if isinstance(text, str) else "\n".join(text) + "\n"
    path.write_bytes(whole.encode(encoding))
    return path


def read(
    folder: Path,
    text: str | Sequence[str],
    name: str = "l.csv",
    absent: Absent | None = None,
    encoding: str = "utf-8",
) -> Dataset:
    return load_labels(written(folder, text, name, encoding), options=ReadOptions(absent=absent))


def make_images(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(folder / name)
    return folder


def write_files(folder: Path, **files: str) -> None:
    """Texts by the names of their files, with _ for a dot and __ for a slash."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
