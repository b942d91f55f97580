"""JSON lines, or a JSON list: one object per image, as in Hugging Face's ``metadata.jsonl``.

Read are, besides ``file_name`` and an optional ``split``:
own shape ``{"positives": [...], "negatives": [...]}``, whatever is in neither being unknown, with
the class list under ``classes`` in the first line; a list of tags under ``tags``, ``labels`` or
``keywords``; values by class (1, 0, null) in an object under ``labels``, or as keys of the line.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tagfill.errors import Problems, TagfillError
from tagfill.image_files import SUFFIXES
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._json import listed, load_json, mapped, parse_json
from tagfill.labels.formats._json_shapes import first_value, plain_record
from tagfill.labels.formats._names import (
    SPLIT,
    is_about_file,
    is_image_name,
    is_label_name,
    is_tags_name,
)
from tagfill.labels.formats._splitter import Splitter, find_splitter
from tagfill.labels.formats._tags import (
    NAME_KEYS,
    is_multi_hot,
    says_nothing,
    tag_name,
    tag_names,
)
from tagfill.labels.formats._text import head, text_lines
from tagfill.labels.formats._ticks import (
    MINUS_REMEDY,
    code_of,
    is_image,
    quoted,
)
from tagfill.labels.formats._write import known_labels, not_held, split_of_rows
from tagfill.labels.formats.base import Format, ReadOptions
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN

_LISTS = ("positives", "negatives", "classes")
_METADATA = "metadata.jsonl"
_LIST = re.compile(r'\[\s*\{\s*"')
_BY_IMAGE = re.compile(rf'\{{\s*"[^"]+\.(?:{"|".join(s[1:] for s in SUFFIXES)})"\s*:', re.I)
_WRAPPED = re.compile(r'"(\w+)"\s*:\s*\[\s*(\{[^{}]*\})')
_TASKS = re.compile(r'"data"\s*:\s*\{|"(?:annotation_id|annotator|lead_time)"\s*:')
"""Signs of Label Studio."""


def _file(path: Path) -> Path:
    return path / _METADATA if path.is_dir() else path


def is_export(text: str) -> bool:
    """Whether a text begins with a record of an annotation program."""
    first = first_value(text)
    return isinstance(first, dict) and not _TASKS.search(text) and plain_record(first) is not None


def is_spread(text: str) -> bool:
    """Whether objects about images follow each other, each on several lines."""
    first, line = first_value(text), text.split("\n", 1)[0]
    return isinstance(first, dict) and _id_key(first) is not None and first_value(line) is None


def _detect(path: Path) -> bool:
    text = head(_file(path)).lstrip()
    if is_export(text):
        return False
    if _BY_IMAGE.match(text) or wrapped_list(text):
        return True
    if text.startswith("["):
        return _LIST.match(text) is not None and _TASKS.search(text) is None
    first = text.split("\n", 1)[0].rstrip().rstrip(",")
    try:
        line = json.loads(first)
    except (ValueError, RecursionError):
        return first.startswith('{"file_name":')
    return isinstance(line, dict) and _id_key(line) is not None


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
        tagged = any(_names_tags(key) or key in _LISTS for key in first)
        if tagged and _id_key(first) is not None:
            return match[1]
    return None


def _id_key(line: Mapping[str, Any]) -> str | None:
    """The key of the image: one with a usual name, else one whose value is the name of a file."""
    tagged = any(map(_names_tags, line))
    usual = [
        key
        for key in line
        if is_image_name(key) and _image_id(line[key]) and (tagged or not _is_number(line[key]))
    ]
    named = [key for key in line if isinstance(line[key], str) and is_image(line[key])]
    return next(iter(usual or named), None)


def _image_id(value: Any) -> str | None:
    """An image id: a text, a number, or the path in an object, as the hub has it."""
    if isinstance(value, dict):
        return _image_id(value.get("path"))
    return str(value) if isinstance(value, str) or _is_number(value) else None


def _read(path: Path, options: ReadOptions, problems: Problems) -> Dataset:
    file = _file(path)
    builder = LabelBuilder(file, options, problems, FORMAT.default_absent, free_tags=True)
    lines = list(_values(file))
    splitter = _splitter(lines, options, file)
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
    return builder.dataset(FORMAT.name)


def _values(file: Path) -> Iterator[tuple[int, Any]]:
    """The values of all lines, or of a list that fills the file, numbered from 1."""
    text = head(file).lstrip()
    if text.startswith("["):
        yield from enumerate(listed(load_json(file)), 1)
        return
    key = wrapped_list(text)
    if key is not None:
        yield from enumerate(listed(mapped(load_json(file)).get(key)), 1)
        return
    if _BY_IMAGE.match(text):
        yield from enumerate(map(_as_line, mapped(load_json(file)).items()), 1)
        return
    for row, text in text_lines(file):
        yield row, parse_json(text.rstrip().rstrip(","), file, row)


def _splitter(lines: Iterable[tuple[int, Any]], options: ReadOptions, file: Path) -> Splitter:
    """How tags are told apart where they are one text."""
    texts = (
        value
        for _, line in lines
        for key, value in mapped(line).items()
        if isinstance(value, str) and _names_tags(key)
    )
    return find_splitter(texts, options, file)


def _as_line(item: tuple[str, Any]) -> Any:
    """The value of one image in an object keyed by image: its tags, or an object with them."""
    image, value = item
    return {"file_name": image, **(value if isinstance(value, dict) else {"tags": value})}


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
        key = _id_key(line)
        if key is None:
            self._error("the line has no image id (image, file_name ...)", row)
            return
        record = self.builder.record(_image_id(line[key]) or "", row)
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
        if own or any(isinstance(rest.get(key), list) for key in _LISTS):
            stated = {"positives": POSITIVE, "negatives": NEGATIVE}
        else:
            stated = {key: POSITIVE for key in rest if _holds_tags(key, rest[key])}
        for key, value in stated.items():
            names = self._names(rest.get(key), row)
            if value == POSITIVE:
                self.builder.tags(record, dict.fromkeys(names), row)
                continue
            for name in names:
                self.builder.mark(record, self.builder.label(name, row), value, row)
        nested = next(
            (key for key in rest if _names_tags(key) and isinstance(rest[key], dict)), None
        )
        if nested:
            self._values(record, row, rest[nested])
        elif not stated:
            self._values(record, row, rest)
        self._leave_out(rest, {*stated, *_LISTS, nested} if stated or nested else set(rest))

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


def _names_tags(key: str) -> bool:
    return is_tags_name(key) or is_label_name(key)


def _holds_tags(key: str, value: Any) -> bool:
    """Whether a value lists tags, or is the number of a class."""
    listing = value is None or isinstance(value, list | str)
    listing |= is_label_name(key) and _is_number(value)
    return _names_tags(key) and key != "classes" and listing


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def edited_lines(
    file: Path, changes: Mapping[str, Mapping[str, int]], name_of: Callable[[str], str]
) -> tuple[str, bool]:
    """The text of a file with other labels for some images, and whether it holds all of them."""
    whole = head(file).lstrip().startswith("[")
    lines = list(_values(file))
    values, splitter = [value for _, value in lines], _splitter(lines, ReadOptions(), file)
    holds = True
    for line in values:
        key = _id_key(line) if isinstance(line, dict) else None
        image = _image_id(line[key]) if key is not None else None
        if image is not None and image in changes:
            holds &= _edit_line(line, changes[image], name_of, splitter)
    texts = [json.dumps(value, ensure_ascii=False) for value in values]
    return ("[\n" + ",\n".join(texts) + "\n]\n" if whole else "\n".join(texts) + "\n"), holds


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
) -> bool:
    """Change the labels of one line in place; returns whether it can hold negatives."""
    own = any(isinstance(line.get(key), list) for key in ("positives", "negatives"))
    lists = {"positives": POSITIVE, "negatives": NEGATIVE} if own else {}
    if not own:
        lists = {key: POSITIVE for key in line if _holds_tags(key, line[key])}
    for key, value in lists.items():
        items = line.get(key)
        items = splitter.split(items) if isinstance(items, str) else items
        items = items if isinstance(items, list) else [] if items is None else [items]
        kept = [item for item in items if labels.get(name_of(tag_name(item) or ""), value) == value]
        there = [tag_name(item) for item in kept]
        added = [name for name, new in labels.items() if new == value and name not in there]
        line[key] = [*kept, *(_like(kept, name) for name in added)]
    if lists:
        return own
    nested = next((key for key in line if _names_tags(key) and isinstance(line[key], dict)), None)
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
