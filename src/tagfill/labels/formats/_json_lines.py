"""Objects about images in JSON: which image, which labels, whatever their keys are called."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tagfill.errors import Problems, TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._json import mapped
from tagfill.labels.formats._names import (
    SPLIT,
    is_about_file,
    is_image_name,
    is_label_name,
    is_tags_name,
)
from tagfill.labels.formats._splitter import Splitter, find_splitter
from tagfill.labels.formats._tags import is_multi_hot, says_nothing, tag_names
from tagfill.labels.formats._ticks import MINUS_REMEDY, code_of, is_image, quoted
from tagfill.labels.formats.base import ReadOptions
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN

Line = tuple[int, Any]
"""The number of an object, and the object."""

LISTS = ("positives", "negatives", "classes")
_WRAPPED = re.compile(r'"(\w+)"\s*:\s*\[\s*(\{[^{}]*\})')


def read_lines(
    file: Path, lines: list[Line], format: str, options: ReadOptions, problems: Problems
) -> Dataset:
    """The data set of objects about images."""
    builder = LabelBuilder(file, options, problems, "unknown", free_tags=True)
    splitter = splitter_of(lines, options, file)
    builder.notes += splitter.notes
    reader = LineReader(builder, splitter, _about_other_things(line for _, line in lines))
    for row, line in lines:
        if isinstance(line, dict):
            reader.read(row, line)
        else:
            problems.error("the line is not a JSON object", file=file, row=row)
    if reader.ignored:
        keys = ", ".join(reader.ignored).encode("utf-8", "backslashreplace").decode()
        if not builder.classes:
            problems.raise_errors()
            raise TagfillError(
                f"no key holds labels (1, 0, null or a list of tags): {keys}", file=file
            )
        builder.notes.append(f"keys that are not labels were skipped: {keys}")
    return builder.dataset(format)


def splitter_of(lines: Iterable[Line], options: ReadOptions, file: Path) -> Splitter:
    """How tags are told apart where they are one text."""
    texts = (
        value
        for _, line in lines
        for key, value in mapped(line).items()
        if isinstance(value, str) and names_tags(key)
    )
    return find_splitter(texts, options, file)


def _about_other_things(lines: Iterable[Any]) -> frozenset[str]:
    """Keys that hold no labels: numbers such as sizes, and texts other than yes and no."""
    numbers, bad = Counter[str](), Counter[str]()
    texts: dict[str, set[str]] = {}
    for line in lines:
        for key, value in mapped(line).items():
            if isinstance(value, str):
                texts.setdefault(key, set()).add(value)
            elif isinstance(value, int | float) and value == value:
                numbers[key] += 1
                bad[key] += value not in (0, 1, -1)
    measured = {key for key in bad if 2 * bad[key] >= numbers[key] > 1}
    return frozenset(measured | {key for key in texts if not _are_ticks(key, texts[key])})


def _are_ticks(key: str, texts: Iterable[str]) -> bool:
    """Whether texts are words such as yes and no, and not single letters or all unknown."""
    codes = {text: code_of(text) for text in texts}
    words = [text for text in codes if codes[text] != UNKNOWN and len(text) > 1]
    return bool(words) and None not in codes.values() and not is_about_file(key)


class LineReader:
    """Turns the objects of one file into records.

    Args:
        builder: where the records go.
        splitter: how tags are told apart where they are one text.
        other: keys that hold no labels.
    """

    def __init__(
        self, builder: LabelBuilder, splitter: Splitter, other: frozenset[str] = frozenset()
    ) -> None:
        self.builder, self.splitter, self.other = builder, splitter, other
        builder.options = replace(builder.options, hierarchy=splitter.path)
        self.ignored: dict[str, None] = {}
        self._examples: dict[str, str] = {}

    def read(self, row: int, line: Mapping[str, Any]) -> None:
        """Open a record for a line and state what it says."""
        key = id_key(line)
        if key is None:
            self._error("the line has no image id (image, file_name ...)", row)
            return
        record = self.builder.record(image_id(line[key]) or "", row)
        split = line.get(SPLIT)
        if isinstance(split, str):
            self.builder.split(record, split, row)
        rest = {
            name: value
            for name, value in line.items()
            if name != key and not (name == SPLIT and isinstance(value, str))
        }
        self._labels(record, row, rest)

    def _labels(self, record: int, row: int, rest: dict[str, Any]) -> None:
        own = any(isinstance(rest.get(key), list) for key in ("positives", "negatives"))
        if own or isinstance(rest.get("classes"), list):
            self.builder.declare(self._names(rest.get("classes"), row), row)
        if own or any(isinstance(rest.get(key), list) for key in LISTS):
            stated = {"positives": POSITIVE, "negatives": NEGATIVE}
        else:
            stated = {key: POSITIVE for key in rest if holds_tags(key, rest[key])}
        for key, value in stated.items():
            names = self._names(rest.get(key), row)
            if value == POSITIVE:
                self.builder.tags(record, dict.fromkeys(names), row)
                continue
            for name in names:
                self.builder.mark(record, self.builder.label(name, row), value, row)
        nested = next(
            (key for key in rest if names_tags(key) and isinstance(rest[key], dict)), None
        )
        if nested:
            self._values(record, row, rest[nested])
        elif not stated:
            self._values(record, row, rest)
        self._leave_out(rest, {*stated, *LISTS, nested} if stated or nested else set(rest))

    def _names(self, value: Any, row: int) -> list[str]:
        if isinstance(value, str):
            return [tag for tag in self.splitter.tags(value) if not says_nothing(tag)]
        if value is None:
            return []
        names = tag_names(value)
        plain = [name for name in names if name]
        if None in names:
            remedy = "write names alone, and only of tags that you trust where there are scores"
            shown = self._examples.setdefault("names", quoted(value))
            self._error(f"{shown} is not a list of class names", row, remedy)
        elif is_multi_hot(value):
            remedy = "write the names of the classes that apply, or an object of names and values"
            shown = self._examples.setdefault("numbers", quoted(value))
            self._error(f"{shown} is a list of 1 and 0 without names", row, remedy)
        else:
            return plain
        return []

    def _values(self, record: int, row: int, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            code = code_of(value) if isinstance(value, str) and name not in self.other else None
            if code is None and (isinstance(value, str | list | dict) or name in self.other):
                self._leave_out([name], set())
                continue
            if code is None:
                code = self._code(value)
            if code is None:
                message = f"value {quoted(value)} of class {name!r} is not 1, 0 or null"
                self._error(message, row, MINUS_REMEDY.format("-1") if value == -1 else None)
            else:
                self.builder.mark(record, self.builder.label(name, row), code, row)

    def _code(self, value: Any) -> int | None:
        """The label that a number or null states; -1 only where the user says what it means."""
        if value is None or value != value or (value == -1 and self.builder.options.absent):
            return UNKNOWN
        return int(value) if value in (0, 1) else None

    def _leave_out(self, keys: Any, used: set[Any]) -> None:
        self.ignored.update(dict.fromkeys(key for key in keys if key not in used))

    def _error(self, message: str, row: int, remedy: str | None = None) -> None:
        self.builder.problems.error(message, file=self.builder.source, row=row, remedy=remedy)


def wrapped_list(text: str) -> str | None:
    """The key of the list of images with tags in an object.

    >>> wrapped_list('{"by": "me", "photos": [{"file": "a.jpg", "tags": ["cat"]}]}')
    'photos'
    """
    for match in _WRAPPED.finditer(text) if text.startswith("{") else ():
        try:
            first = json.loads(match[2])
        except (ValueError, RecursionError):
            continue
        tagged = any(names_tags(key) or key in LISTS for key in first)
        if tagged and id_key(first) is not None:
            return match[1]
    return None


def id_key(line: Mapping[str, Any]) -> str | None:
    """The key of the image: one with a usual name, else one whose value is the name of a file."""
    tagged = any(map(names_tags, line))
    usual = [
        key
        for key in line
        if is_image_name(key) and image_id(line[key]) and (tagged or not _is_number(line[key]))
    ]
    named = [key for key in line if isinstance(line[key], str) and is_image(line[key])]
    return next(iter(usual or named), None)


def image_id(value: Any) -> str | None:
    """An image id: a text, a number, or the path in an object, as the hub has it."""
    if isinstance(value, dict):
        return image_id(value.get("path"))
    return str(value) if isinstance(value, str) or _is_number(value) else None


def names_tags(key: str) -> bool:
    """Whether a key is one for tags."""
    return is_tags_name(key) or is_label_name(key)


def holds_tags(key: str, value: Any) -> bool:
    """Whether a value lists tags, or is the number of a class."""
    listing = value is None or isinstance(value, list | str)
    listing |= is_label_name(key) and _is_number(value)
    return names_tags(key) and key != "classes" and listing


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
