"""A file of tags beside every image: ``a.txt``, ``a.caption`` or ``a.json`` for ``a.jpg``.

So keep them people who train image generators (tags with commas), downloaders (JSON with ``tags``),
labelme (JSON with ``shapes`` and ``flags``) and Google Takeout (JSON with ``people``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tagfill.errors import TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._folders import labeled_images, sample, split_of
from tagfill.labels.formats._json import read_lines
from tagfill.labels.formats._json_values import mapped, objects, parse_json
from tagfill.labels.formats._names import SPLIT, names_tags
from tagfill.labels.formats._splitter import are_captions, blanks_separate
from tagfill.labels.formats._tags import split_tags
from tagfill.labels.formats._text import head, read_text
from tagfill.labels.formats.base import Format, Source
from tagfill.labels.formats.json_export import plain_record
from tagfill.labels.formats.yolo import is_yolo

_TEXTS = (".txt", ".caption", ".tags")
_SUFFIXES = (*_TEXTS, ".json")
_MOST_WORDS = 4.0
"""Tags have fewer words than this on average; sentences have more."""


def _detect(path: Path) -> bool:
    files = sample(path, _SUFFIXES)
    if not files or not all(map(_holds_tags, files)):
        return False
    texts = [head(file) for file in files if file.suffix in _TEXTS]
    tags = [tag for text in texts for tag in split_tags(text)]
    wordy = sum(len(tag.split()) for tag in tags) > _MOST_WORDS * len(tags)
    return not wordy or blanks_separate(texts) or are_captions(texts)


def _holds_tags(file: Path) -> bool:
    if file.suffix.lower() != ".json":
        return not is_yolo(head(file))
    try:
        return bool(_as_line(parse_json(head(file), file)))
    except TagfillError:
        return False


def _as_line(document: Any) -> dict[str, Any]:
    """The labels in a JSON file as an object with tags or values; empty if there are none."""
    content = mapped(document)
    shapes, flags = objects(content.get("shapes")), mapped(content.get("flags"))
    if shapes or flags or "imagePath" in content:
        stated = {name: value for name, value in flags.items() if isinstance(value, bool)}
        return {"labels": stated | {str(shape["label"]): 1 for shape in shapes if "label" in shape}}
    plain = plain_record({**content, "file_name": "x.jpg"})
    if plain is not None:
        return {key: plain[key] for key in plain if key != "file_name"}
    if "photoTakenTime" in content:
        return {"tags": [person.get("name") for person in objects(content.get("people"))]}
    return {key: content[key] for key in content if names_tags(key)}


def _read(source: Source) -> Dataset:
    lines: list[dict[str, Any]] = []
    untagged = 0
    for image, file in labeled_images(source.path, _SUFFIXES):
        line: dict[str, Any] = {}
        if file is not None and file.suffix.lower() == ".json":
            line = _as_line(parse_json(read_text(file), file))
        elif file is not None:
            line = {"tags": read_text(file)}
        untagged += not line
        lines.append({**line, "file_name": str(image), SPLIT: split_of(image)})
    notes = [f"{untagged:,} of {len(lines):,} images have no file of tags"] if untagged else []
    return read_lines(source, list(enumerate(lines, 1)), notes, source.path)


FORMAT = Format(
    "tag_files",
    "a file of tags per image: a.txt, a.caption or a.json beside a.jpg",
    _detect,
    _read,
)
