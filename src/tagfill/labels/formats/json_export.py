"""JSON exports of annotation programs, and tables as JSON: see ``_json_shapes`` for which."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tagfill.errors import Problems
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._json import load_json, mapped, parse_json
from tagfill.labels.formats._json_shapes import first_value, plain_record, plain_records
from tagfill.labels.formats._splitter import find_splitter
from tagfill.labels.formats._text import head, read_text
from tagfill.labels.formats.base import Format, ReadOptions
from tagfill.labels.formats.jsonl import LineReader, is_export, is_spread

_MOST_BYTES = 1 << 25
"""A larger object is a table of another format."""


def _detect(path: Path) -> bool:
    text = head(path).lstrip()
    if text[:1] not in ("[", "{"):
        return False
    first = first_value(text)
    if is_export(text) or (text.startswith("{") and is_spread(text)):
        return True
    if isinstance(first, list):
        return bool(plain_records([first]))
    whole = text.startswith("{") and path.stat().st_size < _MOST_BYTES
    try:
        return whole and bool(plain_records(json.loads(read_text(path))))
    except (ValueError, RecursionError):
        return False


def _read(path: Path, options: ReadOptions, problems: Problems) -> Dataset:
    builder = LabelBuilder(path, options, problems, FORMAT.default_absent, free_tags=True)
    reader = LineReader(builder, find_splitter((), options, path))
    for row, record in enumerate(_records(path), 1):
        reader.read(row, plain_record(mapped(record)) or mapped(record))
    return builder.dataset(FORMAT.name)


def _records(path: Path) -> Iterator[Any]:
    text = read_text(path).strip()
    if text.startswith("["):
        document = load_json(path)
        yield from plain_records(document) or document
        return
    values = list(_values(text, path))
    yield from (plain_records(values[0]) if len(values) == 1 else []) or values


def _values(text: str, path: Path) -> Iterator[Any]:
    """The values of a text, one after the other, with line ends or commas between them."""
    decoder, place = json.JSONDecoder(), 0
    while place < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            parse_json(text[place:], path, text.count("\n", 0, place) + 1)
            raise
        yield value
        while text[place : place + 1] in tuple(" ,\t\r\n"):
            place += 1


FORMAT = Format(
    name="json_export",
    title="JSON of Prodigy, Labelbox, SuperAnnotate, Scale, CreateML and others",
    detect=_detect,
    read=_read,
    default_absent="unknown",
)
