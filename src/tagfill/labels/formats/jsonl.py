"""JSON lines, or a JSON list: one object per image, as in Hugging Face's ``metadata.jsonl``.

Read are, besides ``file_name`` and an optional ``split``:
own shape ``{"positives": [...], "negatives": [...]}``, whatever is in neither being unknown, with
the class list under ``classes`` in the first line; a list of tags under ``tags``, ``labels`` or
``keywords``; values by class (1, 0, null) in an object under ``labels``, or as keys of the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tagfill.console import json_text
from tagfill.errors import TagfillError
from tagfill.files import write_text
from tagfill.image_files import SUFFIXES
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._json import (
    Line,
    id_key,
    image_id,
    is_own,
    label_keys,
    read_lines,
    splitter_of,
    wrapped_list,
)
from tagfill.labels.formats._json_values import (
    first_value,
    json_values,
    listed,
    load_json,
    mapped,
    objects,
    records_under,
    texts,
)
from tagfill.labels.formats._names import SPLIT, names_tags, plain_name
from tagfill.labels.formats._splitter import Splitter
from tagfill.labels.formats._tags import NAME_KEYS, tag_name
from tagfill.labels.formats._text import head, read_text
from tagfill.labels.formats._write import known_labels, not_held, split_of_rows
from tagfill.labels.formats.base import Edit, Format, Source
from tagfill.labels.formats.json_export import is_export, plain_record
from tagfill.labels.formats.label_studio import STUDIO
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN

_NAMES = ("names", "classnames", "labelnames", "categorynames", "id2label")
"""Keys, written plainly, of the names of all classes."""
_METADATA = "metadata.jsonl"
_BY_IMAGE = re.compile(rf'\{{\s*"[^"]+\.(?:{"|".join(s[1:] for s in SUFFIXES)})"\s*:', re.I)


def _file(path: Path) -> Path:
    return path / _METADATA if path.is_dir() else path


def _detect(path: Path) -> bool:
    text = head(_file(path)).lstrip()
    first = first_value(text)
    exported = is_export(first) and path.is_file()
    if _BY_IMAGE.match(text) or wrapped_list(text):
        return True
    if text.startswith('{"file_name":') and not exported:
        return True
    if not isinstance(first, dict) or STUDIO.search(text) or exported:
        return False
    return text.startswith("[") or id_key(first) is not None


def _read(source: Source) -> Dataset:
    source = replace(source, path=_file(source.path))
    lines = _lines(source.path)
    if lines and is_export(lines[0][1]):
        lines = [(row, plain_record(mapped(line)) or line) for row, line in lines]
    return read_lines(source, lines)


def _lines(file: Path) -> list[Line]:
    """The objects of all lines, or of a list or object that fills the file, numbered from 1."""
    text = head(file).lstrip()
    key = wrapped_list(text)
    if key is not None:
        content, records = _under(load_json(file), key)
        _refuse_other_lists(file, content, key, records)
        return list(enumerate(_with_names(content, records), 1))
    if text.startswith("["):
        return list(enumerate(listed(load_json(file)), 1))
    if _BY_IMAGE.match(text):
        return [
            (n, {"file_name": image, **(value if isinstance(value, dict) else {"tags": value})})
            for n, (image, value) in enumerate(mapped(load_json(file, by_image=True)).items(), 1)
        ]
    return list(json_values(read_text(file), file))


def _under(document: Any, key: str) -> tuple[Mapping[str, Any], list[Any]]:
    """The object that has a list of images under a key, and the images."""
    content = mapped(document)
    if isinstance(content.get(key), list):
        records = records_under(content, key)
        return content, records if len(records) >= len(content[key]) else content[key]
    found = (_under(value, key) for value in content.values())
    return next((pair for pair in found if pair[1]), ({}, []))


def _refuse_other_lists(
    file: Path, content: Mapping[str, Any], key: str, records: Sequence[Any]
) -> None:
    """Refuse several lists of images with tags in one object that are no splits.

    Raises:
        TagfillError: another key has such a list that was not read.
    """
    for other in content if len(records) == len(listed(content.get(key))) else ():
        first = next(iter(objects(content[other])), {})
        if other != key and id_key(first) is not None and any(map(names_tags, first)):
            raise TagfillError(
                f"images with tags are listed under {key!r} and {other!r}",
                file=file,
                remedy="keep one list, or call them train, val and test",
            )


def _with_names(content: Mapping[str, Any], records: list[Any]) -> list[Any]:
    """Images with the names of their tags for numbers, where names are listed beside the images."""
    listings = [content[key] for key in content if names_tags(key) or plain_name(key) in _NAMES]
    names = next((dict(enumerate(part)) for part in listings if part and texts(part) == part), {})
    names = names or next((_numbered(part) for part in listings if _numbered(part)), {})
    if not names:
        return records
    for key in dict.fromkeys(key for record in objects(records) for key in record):
        if names_tags(key):
            _name_numbers(objects(records), key, names)
    return records


def _name_numbers(records: Sequence[Any], key: str, names: Mapping[int, str]) -> None:
    """Write names for the numbers below a key; lists of 1 and 0 for all names become objects."""
    lists = [value for record in records if isinstance(value := record.get(key), list)]
    full = all(len(value) == len(names) > 1 for value in lists)
    ticks = full and {n if type(n) is int else -1 for value in lists for n in value} <= {0, 1}
    for record in records:
        value = record.get(key)
        numbers = value if isinstance(value, list) else [value]
        if numbers and all(type(n) is int for n in numbers):
            named = [names.get(n, {"number": n}) for n in numbers]
            as_ticks = ticks and isinstance(value, list)
            record[key] = dict(zip(names.values(), numbers, strict=True)) if as_ticks else named


def _numbered(value: Any) -> dict[int, str]:
    """Names by their number, as ``id2label`` has them."""
    items = mapped(value).items()
    fits = all(key.isdecimal() and isinstance(name, str) for key, name in items)
    return {int(key): name for key, name in items} if fits else {}


def _edit(edit: Edit, out: Path) -> bool:
    file = edit.source.path
    is_list = head(file).lstrip().startswith("[")
    lines = _lines(file)
    if is_export(lines[0][1]):
        raise edit.refusal("lines with objects in the images cannot be edited")
    values, splitter = [value for _, value in lines], splitter_of(lines, edit.source.options, file)
    holds, own = True, is_own(lines)
    keys = [id_key(line) if isinstance(line, dict) else None for line in values]
    named = [(line, key) for line, key in zip(values, keys, strict=True) if key is not None]
    ids = edit.ids_of([image_id(line[key]) or "" for line, key in named])
    for (line, _), image in zip(named, ids, strict=True):
        if image in edit.changes:
            holds &= _edit_line(line, edit.changes[image], edit.name_of, splitter, own=own)
    texts = [json_text(value) for value in values]
    write_text(out, "[\n" + ",\n".join(texts) + "\n]\n" if is_list else "\n".join(texts) + "\n")
    return holds


def _like(items: Sequence[Any], name: str) -> Any:
    """A tag as an item like the others."""
    first = items[0] if items else None
    key = next((k for k in NAME_KEYS if k in first), None) if isinstance(first, dict) else None
    return name if key is None else {key: name}


def _edit_line(
    line: dict[str, Any],
    labels: Mapping[str, int],
    name_of: Callable[[str], str],
    splitter: Splitter,
    *,
    own: bool,
) -> bool:
    """Change the labels of one line in place; returns whether it can hold negatives."""
    lists, nested = label_keys(line, own=own)
    for key, value in lists.items():
        items = line.get(key)
        items = splitter.split(items) if isinstance(items, str) else items
        items = items if isinstance(items, list) else [] if items is None else [items]
        kept = [item for item in items if labels.get(name_of(tag_name(item) or ""), value) == value]
        there = [tag_name(item) for item in kept]
        added = [name for name, new in labels.items() if new == value and name not in there]
        line[key] = [*kept, *(_like(kept, name) for name in added)]
    if lists:
        return NEGATIVE in lists.values()
    place = line if nested is None else line[nested]
    for name, value in labels.items():
        place[name] = None if value == UNKNOWN else value
    return True


def _write(dataset: Dataset, path: Path) -> list[str]:
    table = dataset.table
    names, lost = split_of_rows(dataset)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row, image in enumerate(table.images):
            line: dict[str, Any] = {
                "file_name": image,
                "positives": known_labels(table, row, POSITIVE),
                "negatives": known_labels(table, row, NEGATIVE),
            }
            if names[row]:
                line[SPLIT] = names[row]
            if row == 0:
                line["classes"] = list(table.classes)
            file.write(json_text(line) + "\n")
    return lost + not_held(dataset)


FORMAT = Format(
    "jsonl",
    "JSON lines, also Hugging Face metadata.jsonl",
    _detect,
    _read,
    write=_write,
    edit=_edit,
)
