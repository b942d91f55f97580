"""Values of JSON files, of a wanted type."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tagfill.errors import TagfillError
from tagfill.labels.formats._merge import SPLITS, usual_split
from tagfill.labels.formats._names import SPLIT
from tagfill.labels.formats._text import read_text
from tagfill.labels.formats._ticks import quoted

_BETWEEN = re.compile(r"[\s,\ufeff]*")


def load_json(path: Path, *, by_image: bool = False) -> Any:
    """The content of a JSON file.

    Args:
        path: the file.
        by_image: whether its keys are images, so that none may be repeated.

    Raises:
        TagfillError: the file is not text or not JSON; names the line.
    """

    def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = Counter(key for key, _ in pairs)
        if len(keys) < len(pairs):
            repeated = f"the key {quoted(keys.most_common(1)[0][0])} is repeated"
            raise TagfillError(repeated, file=path, remedy="keep one of them")
        return dict(pairs)

    return parse_json(read_text(path), path, hook=without_repeats if by_image else None)


def parse_json(text: str, path: Path, row: int | None = None, hook: Any = None) -> Any:
    """The value of a JSON text.

    Args:
        text: the whole file, or one line of it.
        path: the file, to name in errors.
        row: line number; by default that of the error.
        hook: makes objects of their keys and values.
    """
    try:
        return json.loads(text, parse_int=_integer, object_pairs_hook=hook)
    except json.JSONDecodeError as error:
        message, line = error.msg, error.lineno if row is None else row
    except RecursionError:
        message, line = "it is nested too deeply", row or 1
    raise TagfillError(f"not readable as JSON ({message})", file=path, row=line)


def first_value(text: str) -> Any:
    """The first object of JSON lines, the first item of a list, or a whole object, if it is whole.

    >>> first_value('[{"a": 1}, {"b'), first_value('{"a": 1}\\n{"b": 2}')
    ({'a': 1}, {'a': 1})
    """
    start = text.find("[") + 1 if text.startswith("[") else 0
    try:
        return json.JSONDecoder().raw_decode(text[start:].lstrip())[0]
    except (ValueError, RecursionError):
        return None


def json_values(text: str, path: Path) -> Iterator[tuple[int, Any]]:
    """The values of a text that follow each other on lines or with commas, and their rows."""
    decoder = json.JSONDecoder(parse_int=_integer)
    row, last = 1, 0
    place = _BETWEEN.match(text).end()  # type: ignore[union-attr]
    while place < len(text):
        row, last = row + text.count("\n", last, place), place
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            parse_json(text[place:].split("\n", 1)[0], path, row)
            raise TagfillError("not readable as JSON", file=path, row=row) from None
        yield row, value
        place = _BETWEEN.match(text, place).end()  # type: ignore[union-attr]


def _integer(digits: str) -> int | float:
    """Refuse numbers with more digits than Python converts: they are not ids or labels."""
    return int(digits) if len(digits) < 400 else float("nan")


def listed(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def mapped(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[Mapping[str, Any]]:
    return [entry for entry in listed(value) if isinstance(entry, dict)]


def texts(value: Any) -> list[str]:
    """The texts of a list, without outer blanks and empty ones."""
    return [text for entry in listed(value) if isinstance(entry, str) and (text := entry.strip())]


def records_under(content: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The objects below a key of an object, and below its other keys where these name splits."""
    splits = [name for name in content if usual_split(name) in SPLITS and objects(content[name])]
    if key not in splits or len(splits) < 2:
        return objects(content.get(key))
    return [{**record, SPLIT: name} for name in splits for record in objects(content[name])]


def number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None
