"""JSON exports of annotation programs, and tables as JSON: see ``_json_shapes`` for which."""

from __future__ import annotations

import json
from pathlib import Path

from tagfill.errors import Problems
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._json import first_value, json_values, load_json, mapped
from tagfill.labels.formats._json_lines import read_lines, wrapped_list
from tagfill.labels.formats._json_shapes import is_export, plain_record, plain_records
from tagfill.labels.formats._studio import STUDIO
from tagfill.labels.formats._text import head, read_text
from tagfill.labels.formats.base import Format, ReadOptions

_MOST_BYTES = 1 << 25
"""A larger object is a table of another format."""


def _detect(path: Path) -> bool:
    text = head(path).lstrip()
    if text[:1] not in ("[", "{") or STUDIO.search(text) or wrapped_list(text):
        return False
    first = first_value(text)
    if isinstance(first, list) or is_export(first):
        return is_export(first) or bool(plain_records([first]))
    try:
        whole = text.startswith("{") and path.stat().st_size < _MOST_BYTES
        return whole and bool(plain_records(json.loads(read_text(path))))
    except (ValueError, RecursionError):
        return False


def _read(path: Path, options: ReadOptions, problems: Problems) -> Dataset:
    text = read_text(path)
    if text.lstrip().startswith("["):
        document = load_json(path)
        lines = list(enumerate(plain_records(document) or document, 1))
    else:
        lines = list(json_values(text, path))
        table = plain_records(lines[0][1]) if len(lines) == 1 else []
        lines = list(enumerate(table, 1)) or lines
    plain = [(row, plain_record(mapped(record)) or record) for row, record in lines]
    return read_lines(path, plain, FORMAT.name, options, problems)


FORMAT = Format(
    name="json_export",
    title="JSON of Prodigy, Labelbox, SuperAnnotate, Scale, CreateML and others",
    detect=_detect,
    read=_read,
    default_absent="unknown",
)
