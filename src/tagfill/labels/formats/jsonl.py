"""JSON lines: one object an image, as in the ``metadata.jsonl`` of Hugging Face image folders.

Read are, besides ``file_name`` and an optional ``split``:
own shape ``{"positives": [...], "negatives": [...]}``, whatever is in neither being unknown, with
the class list under ``classes`` in the first line; a list of tags under ``tags``, ``labels`` or
``label``; values by class (1, 0, null) in an object under ``labels``, or as keys of the line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tagfill.errors import Problems, TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._gather import Gather
from tagfill.labels.formats._text import ID_NAMES, SPLIT, TAGS_NAMES, head, text_lines
from tagfill.labels.formats._write import known_labels, not_held, split_of_rows
from tagfill.labels.formats.base import Format, ReadOptions
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN

_LISTS = ("positives", "negatives", "classes")
_TAG_KEYS = (*TAGS_NAMES, "label")
_METADATA = "metadata.jsonl"


def _file(path: Path) -> Path:
    return path / _METADATA if path.is_dir() else path


def _detect(path: Path) -> bool:
    first = head(_file(path)).lstrip().split("\n", 1)[0]
    try:
        line = json.loads(first)
    except ValueError:
        return first.startswith('{"file_name":')
    return isinstance(line, dict) and any(key in line for key in ID_NAMES)


def _read(path: Path, options: ReadOptions, problems: Problems) -> Dataset:
    file = _file(path)
    gather = Gather(file, options, problems, FORMAT.default_absent)
    reader = _LineReader(gather)
    for row, line in _objects(file, problems):
        reader.read(row, line)
    if reader.ignored:
        gather.notes.append(f"keys that are no labels were left out: {', '.join(reader.ignored)}")
    return gather.dataset(FORMAT.name)


def _objects(file: Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    for row, text in text_lines(file):
        try:
            line = json.loads(text)
        except ValueError as error:
            raise TagfillError(f"not readable as JSON ({error})", file=file, row=row) from None
        if isinstance(line, dict):
            yield row, line
        else:
            problems.error("the line is no JSON object", file=file, row=row)


class _LineReader:
    """Turns the objects of one file into records."""

    def __init__(self, gather: Gather) -> None:
        self.gather = gather
        self.ignored: dict[str, None] = {}

    def read(self, row: int, line: Mapping[str, Any]) -> None:
        """Open a record for a line and state what it says."""
        key = next((name for name in ID_NAMES if isinstance(line.get(name), str)), None)
        if key is None:
            self._error(f"the line has no image id ({', '.join(ID_NAMES)})", row)
            return
        record = self.gather.record(line[key], row)
        split = line.get(SPLIT)
        if isinstance(split, str):
            self.gather.split(record, split, row)
        rest = {
            name: value
            for name, value in line.items()
            if name != key and not (name == SPLIT and isinstance(value, str))
        }
        self._labels(record, row, rest)

    def _labels(self, record: int, row: int, rest: dict[str, Any]) -> None:
        for name in self._names(rest.get("classes"), row):
            self.gather.label(name, row)
        if any(isinstance(rest.get(key), list) for key in _LISTS):
            stated = {"positives": POSITIVE, "negatives": NEGATIVE}
        else:
            stated = {key: POSITIVE for key in _TAG_KEYS if isinstance(rest.get(key), list | str)}
        for key, value in stated.items():
            for name in self._names(rest.get(key), row):
                self.gather.mark(record, self.gather.label(name, row), value, row)
        nested = next((key for key in _TAG_KEYS if isinstance(rest.get(key), dict)), None)
        if nested:
            self._values(record, row, rest[nested])
        elif not stated:
            self._values(record, row, rest)
        self._leave_out(rest, {*stated, *_LISTS, nested} if stated or nested else set(rest))

    def _names(self, value: Any, row: int) -> list[str]:
        names = [value] if isinstance(value, str) else value or []
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            return names
        self._error(f"{value!r} is no list of class names", row)
        return []

    def _values(self, record: int, row: int, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            if isinstance(value, str | list | dict):
                self._leave_out([name], set())
            elif value is not None and value not in (0, 1):
                self._error(f"value {value!r} of class {name!r} is not 1, 0 or null", row)
            else:
                code = UNKNOWN if value is None else int(value)
                self.gather.mark(record, self.gather.label(name, row), code, row)

    def _leave_out(self, keys: Any, used: set[Any]) -> None:
        self.ignored.update(dict.fromkeys(key for key in keys if key not in used))

    def _error(self, message: str, row: int) -> None:
        self.gather.problems.error(message, file=self.gather.source, row=row)


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
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return lost + not_held(dataset)


FORMAT = Format(
    name="jsonl",
    title="JSON lines, also Hugging Face metadata.jsonl",
    detect=_detect,
    read=_read,
    write=_write,
    default_absent="unknown",
)
