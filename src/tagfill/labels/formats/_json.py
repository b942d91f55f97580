"""JSON of unknown origin: objects about images, whatever their keys."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tagfill.errors import counted
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._json_values import mapped, number
from tagfill.labels.formats._names import (
    REJECTED,
    REVIEWED,
    SPLIT,
    is_about_file,
    is_certainty_name,
    is_denial_name,
    is_image_name,
    is_label_name,
    is_status_name,
    names_tags,
)
from tagfill.labels.formats._refusals import refuse_tags
from tagfill.labels.formats._splitter import Splitter, find_splitter
from tagfill.labels.formats._tags import is_multi_hot, says_nothing, tag_names
from tagfill.labels.formats._ticks import MINUS_REMEDY, code_of, is_image, quoted
from tagfill.labels.formats.base import ReadOptions, Source
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN

Line = tuple[int, Any]
"""The number of an object, and the object."""

LISTS = ("positives", "negatives", "classes")
_WRAPPED = re.compile(r'"(\w+)"\s*:\s*\[\s*(\{[^{}]*\})')


def read_lines(
    source: Source, lines: list[Line], notes: Iterable[str] = (), image_root: Path | None = None
) -> Dataset:
    builder = LabelBuilder(source, free_tags=True)
    lines = _without_rejected(source, lines)
    splitter = splitter_of(lines, source.options, source.path)
    builder.notes += splitter.notes
    other = _about_other_things(line for _, line in lines)
    reader = LineReader(builder, splitter, other, own=is_own(lines))
    for row, line in lines:
        if isinstance(line, dict):
            reader.read(row, line)
        else:
            source.error("the line is not a JSON object", row)
    _refuse_guesses(source, lines, reader.ignored)
    if builder.free_tags:
        refuse_tags(source, dict.fromkeys(builder.classes))
    if reader.pairs and set(builder.classes) == {"0", "1"}:
        raise source.refusal(
            "its tags are lists of 1 and 0 without names", remedy="write names and values"
        )
    if reader.ignored:
        keys = ", ".join(reader.ignored).encode("utf-8", "backslashreplace").decode()
        if not builder.classes:
            source.problems.raise_errors()
            raise source.refusal(f"no key holds labels (1, 0, null or a list of tags): {keys}")
        builder.notes.append(f"keys that are not labels were skipped: {keys}")
    if len(reader.stated) > 1 and not reader.own:
        builder.notes.append(f"tags are read from {', '.join(map(repr, reader.stated))}")
    builder.notes += notes
    return builder.dataset(image_root)


def _without_rejected(source: Source, lines: list[Line]) -> list[Line]:
    """The objects but those that somebody rejected, as a key such as ``status`` says."""
    keys = {key for _, line in lines for key in mapped(line) if is_status_name(key)}
    for key in keys:
        said = [str(mapped(line).get(key, "")).strip().lower() for _, line in lines]
        rejected = [n for n, text in enumerate(said) if text in REJECTED]
        if rejected and {*said} - {""} <= REVIEWED:
            count = counted(len(rejected), "object was", "objects were")
            source.warn(
                f"{count} rejected, as {key!r} says, and passed over", lines[rejected[0]][0]
            )
            lines = [line for line, text in zip(lines, said, strict=True) if text not in REJECTED]
    return lines


def _refuse_guesses(source: Source, lines: list[Line], keys: Iterable[str]) -> None:
    """Refuse tags beside numbers that say how sure a model is of them.

    Raises:
        TagfillError: one of the keys that were left out holds such numbers.
    """
    for key in keys:
        held = [(row, mapped(line).get(key)) for row, line in lines]
        for row, value in held:
            shares = [number(part) for part in (value if isinstance(value, list) else [value])]
            several = isinstance(value, list)
            guessed = any(share not in (None, 0, 1) and 0 <= share <= 100 for share in shares)
            if guessed and is_certainty_name(key, lists=several):
                raise source.refusal(
                    f"{key!r} says how sure a model is of the tags, such as {value}; guesses are"
                    " no labels",
                    row,
                    remedy=f"keep the tags that you trust, and leave out {key!r}",
                )


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
        own: whether the file is of our own shape.
    """

    def __init__(
        self, builder: LabelBuilder, splitter: Splitter, other: frozenset[str], *, own: bool
    ) -> None:
        self.builder, self.splitter, self.other, self.own = builder, splitter, other, own
        builder.hierarchy = splitter.path
        self.ignored: dict[str, None] = {}
        self.stated: dict[str, None] = {}
        self.pairs = 0
        self._examples: dict[str, str] = {}

    def read(self, row: int, line: Mapping[str, Any]) -> None:
        """Open a record for a line and state what it says."""
        key = id_key(line)
        if key is None:
            self.builder.source.error("the line has no image id (image, file_name ...)", row)
            return
        record = self.builder.record(image_id(line[key]) or "", row)
        rest = {name: value for name, value in line.items() if name != key}
        if isinstance(rest.get(SPLIT), str):
            self.builder.split(record, rest.pop(SPLIT), row)
        self._labels(record, row, rest)

    def _labels(self, record: int, row: int, rest: dict[str, Any]) -> None:
        stated, nested = label_keys(rest, own=self.own)
        if self.own:
            self.builder.declare(self._names(rest.get("classes"), row), row)
        self.stated.update(dict.fromkeys(key for key in stated if rest.get(key)))
        for key, value in stated.items():
            names = self._names(rest.get(key), row)
            if value == POSITIVE:
                self.builder.tags(record, dict.fromkeys(names), row)
                continue
            for name in names:
                self.builder.negative(record, name, row)
        if nested:
            self._values(record, row, rest[nested])
        elif not stated:
            self._values(record, row, rest)
        used = {*stated, *LISTS, nested} if stated or nested else set(rest)
        self.ignored.update(dict.fromkeys(key for key in rest if key not in used))

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
            self.builder.source.error(f"{shown} is not a list of class names", row, remedy)
        elif is_multi_hot(value):
            remedy = "write the names of the classes that apply, or an object of names and values"
            shown = self._examples.setdefault("numbers", quoted(value))
            self.builder.source.error(f"{shown} is a list of 1 and 0 without names", row, remedy)
        else:
            self.pairs += isinstance(value, list) and len(value) > 1
            return plain
        return []

    def _values(self, record: int, row: int, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            code = code_of(value) if isinstance(value, str) and name not in self.other else None
            if code is None and (isinstance(value, str | list | dict) or name in self.other):
                self.ignored[name] = None
                continue
            told = value == -1 and self.builder.source.options.absent
            if code is None and (value is None or value != value or told):
                code = UNKNOWN
            elif code is None and value in (0, 1):
                code = int(value)
            if code is None:
                message = f"value {quoted(value)} of class {name!r} is not 1, 0 or null"
                remedy = MINUS_REMEDY.format("-1") if value == -1 else None
                self.builder.source.error(message, row, remedy)
            else:
                self.builder.mark(record, self.builder.label(name, row), code, row)


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


def is_own(lines: Iterable[Line]) -> bool:
    """Whether lines are of our own shape, where ``classes`` lists all classes, not tags."""
    return any(isinstance(mapped(line).get(key), list) for _, line in lines for key in LISTS[:2])


def label_keys(line: Mapping[str, Any], *, own: bool) -> tuple[dict[str, int], str | None]:
    """The keys that list tags, with the label they state, and the key of values by class.

    Args:
        line: one object.
        own: whether the file is of our own shape.
    """
    if any(isinstance(line.get(key), list) for key in LISTS if own):
        stated = {"positives": POSITIVE, "negatives": NEGATIVE}
    else:
        stated = {}
        for key, value in line.items():
            listing = value is None or isinstance(value, list | str)
            number = is_label_name(key) and _is_number(value)
            if is_denial_name(key) and isinstance(value, list):
                stated[key] = NEGATIVE
            elif names_tags(key) and (listing or number):
                stated[key] = POSITIVE
        if POSITIVE not in stated.values():
            stated = {}
        if len(stated) > 1:
            stated.pop("classes", None)
    nested = (key for key in line if names_tags(key) and isinstance(line[key], dict))
    return stated, next(nested, None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
