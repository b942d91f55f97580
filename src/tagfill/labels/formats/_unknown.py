"""What a file is that no reader knows, and what to do with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from tagfill.errors import TagfillError
from tagfill.labels.formats._json_values import load_json
from tagfill.labels.formats._text import encoding_of, head
from tagfill.labels.formats._ticks import is_image

_UNPACK = "unpack it and name the file or folder inside"
_STARTS: dict[bytes, tuple[str, str]] = {
    b"SQLite format 3": ("is an SQLite database", "export the table with the labels as CSV"),
    b"PK\x03\x04": ("is a zip archive", _UNPACK),
    b"\x1f\x8b": ("is compressed (gzip)", _UNPACK),
    b"BZh": ("is compressed (bzip2)", _UNPACK),
    b"\xfd7zXZ": ("is compressed (xz)", _UNPACK),
    b"7z\xbc\xaf": ("is a 7-Zip archive", _UNPACK),
    b"Rar!": ("is a RAR archive", _UNPACK),
    b"%PDF": ("is a PDF", "export the table in it as CSV or xlsx"),
    b"ARROW1": ("is an Arrow or Feather file", "save the table as parquet"),
    b"\x93NUMPY": (
        "is a NumPy array, without names of images and classes",
        "write a CSV with them, or call tagfill.fit from Python",
    ),
    **dict.fromkeys(
        (b"\x80\x03", b"\x80\x04", b"\x80\x05"),
        ("is a pickle, which might run code", "save the table as CSV or parquet"),
    ),
    b"\x89HDF": ("is an HDF5 file", "save the table as CSV or parquet"),
    b"version https://git-lfs": ("is a pointer of Git LFS, not the file itself", "git lfs pull"),
}
_TEXTS: dict[str, tuple[str, str]] = {
    "<!doctype html": ("is a web page, not a table", "download or export the table as CSV"),
    "<html": ("is a web page, not a table", "download or export the table as CSV"),
    "[{'": ("is a Python list, not JSON", "write it with json.dump"),
    "{'": ("is a Python dictionary, not JSON", "write it with json.dump"),
}
_LANGUAGES = {
    r"^(?i:INSERT INTO|CREATE TABLE)\s": "statements of SQL",
    r"\A\[[^\]\[{\"',]+\]\s*$": "settings (INI)",
    r"\A<(?!.*<annotation)": "XML of no known program",
    r"\A[^,;\t|{}\[\]<>]+:\s*(?:\[.*\])?$": "YAML",
}
"""What other languages look like, and their names."""
_SCORED = re.compile(r'"(?:conf|confidence|score|probability)"\s*:\s*0?\.\d')
_JSON = 'write a line such as {"file_name": "a.jpg", "tags": ["cat"]} for every image'


def no_known_format(path: Path, formats: Iterable[str]) -> TagfillError:
    message, remedy = _looks_like(path)
    listed = f"set the format with --format: {', '.join(formats)}"
    return TagfillError(message, file=path, remedy=remedy or listed)


def _looks_like(path: Path) -> tuple[str, str]:
    unknown = "has no known label format", ""
    if not path.is_file():
        return unknown
    with path.open("rb") as file:
        start = file.read(64)
    for magic, known in _STARTS.items():
        if start.startswith(magic):
            return known
    if is_image(path.name):
        return "is an image, not labels", "name its folder, or a file with labels"
    if encoding_of(path) is None:
        return "has no known label format, and is not a text file", ""
    return _text_like(path, head(path).strip()) or unknown


def _text_like(path: Path, text: str) -> tuple[str, str] | None:
    if not text:
        return "holds nothing but blanks", "write a table of images and their tags"
    for beginning, known in _TEXTS.items():
        if text.lower().startswith(beginning):
            return known
    for pattern, name in _LANGUAGES.items():
        if re.search(pattern, text, re.MULTILINE):
            return f"holds {name}, not a table", "export the images and their tags as CSV or JSON"
    if "<track " in text and "<annotations" in text:
        return "is a CVAT export of a video", "export it as 'CVAT for images'"
    if text[0] in "[{":
        return _json_like(path, text)
    is_table = path.suffix.lower() in (".csv", ".tsv", ".txt")
    if is_table and not set(text.splitlines()[0]) & set(",;\t|"):
        message = "has no known label format: it has only one column"
        return message, "separate images and tags with a comma or a tab"
    return None


def _json_like(path: Path, text: str) -> tuple[str, str]:
    lines = text.splitlines()
    if len(lines) == 1 or not _is_json(lines[0]):
        load_json(path)  # an error in it is the better message
    if _SCORED.search(text):
        return "holds scores of a model, which are no labels", f"keep what you trust: {_JSON}"
    return "is JSON, but no list of images with tags", _JSON


def _is_json(line: str) -> bool:
    try:
        return bool(json.loads(line))
    except (ValueError, RecursionError):
        return False
