r"""Several tags in one entry, with any common separator.

Tags are separated by ``;``, ``|``, ``,``, their Asian forms, tabs and line ends, all of them unless
one is named; a backslash before a mark (or before a backslash) makes it part of the tag. Lists in
brackets, as pandas, numpy and JSON write them, are taken apart too, also of objects with names, and
so is the object with choices that Label Studio writes. A tag in quotes keeps the marks inside it.
"""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from tagfill.labels.formats._ticks import TICKS
from tagfill.labels.table import UNKNOWN

SEPARATORS = ";|,、，；،؛"  # noqa: RUF001
_LINES = r"\n\r\t\v"
_MARKS = rf"{SEPARATORS}{_LINES}"
_ESCAPE = re.compile(rf"""([\\{_MARKS}]|^[\[{{#"'])""")
_UNESCAPE = re.compile(rf"""\\([\\{_MARKS}\[{{#"'])""")
_PART = re.compile(rf"(?:\\.|[^{_MARKS}])*[{_MARKS}]*\s*", re.DOTALL)
_LISTED = re.compile(
    r"""\s*(?:(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")(?:\s*(?:,|$)|\s+(?=["']))"""
    r"""|([^,\[\]{}"']+)(?:,|$))"""
)
_CHOICES = re.compile(r"""\{\s*["']choices["']\s*:\s*(\[.*\])\s*\}""", re.DOTALL)
_QUOTED = re.compile(rf"""(?P<quote>["'])(?P<tag>[^"']+)(?P=quote)\s*(?=[{_MARKS}]|$)""")
_NUMBERS = re.compile(r"\d+(?:\s+\d+)+")
_ADJACENT = re.compile(r"""["']\s+["']""")
_CALL = re.compile(
    r"(?:[\w.]*(?:array|tensor|list|set|Index)\(\s*([\[{(].*[\]})]|)\s*(?:,\s*\w+=[^\]})]*)?"
    r"|c\((\".*\"))\)",
    re.DOTALL,
)
"""What numpy, PyTorch, pandas and R write around lists."""
_BRACKETS = ("[]", "{}", "()")
_SCORES = ("score", "confidence", "conf", "probability")
NAME_KEYS = (
    *("name", "label", "tag", "class", "title", "category"),
    *("tagName", "className", "classTitle", "displayName"),
)
"""Keys under which an object may have the name of a tag."""
_HASHTAG = re.compile(r"^#(?=[^\s#])(?!(?:ref|name|value|div/0|num|null|bezug|wert)[!?]$)", re.I)
_HASHTAGS = re.compile(r"#[^\s#]+(?:\s*#[^\s#]+)+")
_IN_PARENTHESES = re.compile(r"\(([^()]*)\)")
_ENTITY = re.compile(r"&(?:#\d+|#x[0-9a-fA-F]+|[A-Za-z]{2,8});")
"""A letter as web pages write it."""


def split_tags(text: str, separator: str | None = None, kept: str | None = None) -> list[str]:
    r"""The tags of one entry, outer blanks removed.

    Args:
        text: the entry.
        separator: the only mark to split at; all usual ones by default.
        kept: a usual mark not to split at.

    >>> split_tags(r"cat; polar bear|a\;b,dog")
    ['cat', 'polar bear', 'a;b', 'dog']
    >>> split_tags("Paris, France; tower", ";")
    ['Paris, France', 'tower']
    >>> split_tags("['cat', \"dog's toy\"]"), split_tags("#cat #dog")
    (['cat', "dog's toy"], ['cat', 'dog'])
    >>> split_tags("['cat' 'dog']"), split_tags('{"choices": ["cat", "dog"]}')
    (['cat', 'dog'], ['cat', 'dog'])
    >>> split_tags('"Paris, France", tower')
    ['Paris, France', 'tower']
    >>> split_tags("#cat"), split_tags("#cat, #dog"), split_tags(r"\#1")
    (['cat'], ['cat', 'dog'], ['#1'])
    >>> split_tags("(cat, dog)"), split_tags("black &amp; white; cat")
    (['cat', 'dog'], ['black & white', 'cat'])
    """
    return list(_split(text, separator, kept))


@lru_cache(maxsize=1 << 16)
def _split(text: str, separator: str | None, kept: str | None) -> tuple[str, ...]:
    plain = without_call(text)
    if separator is None:
        listed = _bracketed(plain)
        if listed is not None:
            return tuple(listed)
        if _NUMBERS.fullmatch(plain):
            return tuple(plain.split())
        if _HASHTAGS.fullmatch(plain):
            return tuple(tag.strip(f"{SEPARATORS} ") for tag in plain.split("#") if tag.strip())
        plain = _IN_PARENTHESES.sub(r"\1", plain) if _IN_PARENTHESES.fullmatch(plain) else plain
        plain = _ENTITY.sub(lambda entity: html.unescape(entity[0]), plain)
        parts = (_HASHTAG.sub("", part.strip()) for part in _parts(plain, separator, kept))
    else:
        parts = (part.strip() for part in _parts(plain, separator, kept))
    return tuple(_UNESCAPE.sub(r"\1", part) for part in parts if part)


def join_tags(tags: Iterable[str], separator: str = ";") -> str:
    """One entry of tags; marks inside tags are escaped."""
    return separator.join(_ESCAPE.sub(r"\\\1", tag) for tag in tags)


_NO_TAGS = """
- -- \N{EN DASH} \N{EM DASH} / . untagged keine kein ohne aucun aucune
ninguna ninguno not_tagged not_specified not_available no_tag no_tags no_keywords
no_labels without_tags keine_angabe nicht_vorhanden
#ref! #value! #name? #div/0! #num! #null! #bezug! #wert!
"""
_SILENT = frozenset(word.replace("_", " ") for word in _NO_TAGS.split())


def says_nothing(text: str) -> bool:
    """Whether an entry is a word for no tags, as people and programs write it.

    >>> says_nothing("-"), says_nothing("(None)"), says_nothing("nun")
    (True, True, False)
    """
    plain = text.strip("()[]<>{} \t\r\n\u00a0").lower()
    return plain in _SILENT or (bool(plain) and TICKS.get(plain) == UNKNOWN)


_NONE_OF_ALL = frozenset(
    {
        *("no finding", "no findings", "no abnormality detected", "kein befund", "ohne befund"),
        *("nothing here", "nothing present", "no animal", "no animals", "no animals present"),
        *("none of the above", "none of these", "nothing to see", "no object", "no objects"),
    }
)
BLANKS = frozenset({"blank", "empty", "leer", "vide", "no species", *_NONE_OF_ALL})
"""What stands in place of an animal where there is none."""


def denies_all(tag: str) -> bool:
    """Whether a tag says that no other one applies.

    >>> denies_all("No Finding"), denies_all("Normal")
    (True, False)
    """
    return tag.strip().lower() in _NONE_OF_ALL


def has_separator(text: str, marks: str = SEPARATORS) -> bool:
    """Whether an entry holds more than one tag."""
    unescaped = _UNESCAPE.sub("", text)
    return any(mark in unescaped for mark in marks)


def separators_in(texts: Iterable[str]) -> list[str]:
    unescaped = [_UNESCAPE.sub("", text) for text in texts]
    return [mark for mark in SEPARATORS if any(mark in text for text in unescaped)]


def _parts(text: str, separator: str | None, kept: str | None) -> list[str]:
    if separator is None:
        marks = SEPARATORS.replace(kept or "", "")
        text = _keep_quoted(text)
        return re.findall(rf"((?:\\[\\{_MARKS}]|[^{marks}{_LINES}])+)", text)
    pattern = rf"((?:\\[\\{_MARKS}]|(?!{re.escape(separator)}).)+)"
    return re.findall(pattern, text, re.DOTALL)


def _keep_quoted(text: str) -> str:
    """The text with tags in quotes escaped instead."""
    if '"' not in text and "'" not in text:
        return text
    parts, place = [], 0
    while place < len(text):
        quoted = _QUOTED.match(text, place)
        if quoted:
            parts.append(_ESCAPE.sub(r"\\\1", quoted["tag"].strip()))
            place = quoted.end()
        rest = _PART.match(text, place)
        parts.append(rest[0] if rest else "")
        place += len(parts[-1])
    return "".join(parts)


def _bracketed(text: str) -> list[str] | None:
    """The names of a list in brackets; ``None`` if the text is not one."""
    if not _is_bracketed(text):
        return None
    choices = _CHOICES.fullmatch(text)
    if choices:
        return _bracketed(choices[1])
    inner, names, place = text[1:-1].strip(), [], 0
    while place < len(inner):
        match = _LISTED.match(inner, place)
        if match is None or match.end() == place:
            return _literal(text)
        name = next(group for group in match.groups() if group is not None)
        names.append(re.sub(r"\\(.)", r"\1", name).strip())
        place = match.end()
    return [name for name in names if name]


def without_call(text: str) -> str:
    """An entry without outer blanks, and without the call by which programs print a list.

    >>> without_call("tensor([1, 0])"), without_call("array(['cat'], dtype=object)")
    ('[1, 0]', "['cat']")
    >>> without_call('c("cat", "dog")'), without_call("cat (big)")
    ('["cat", "dog"]', 'cat (big)')
    """
    call = _CALL.fullmatch(text.strip())
    return text.strip() if call is None else call[1] or f"[{call[2] or ''}]"


def _is_bracketed(text: str) -> bool:
    quoted = text[:1] != "(" or text[1:].lstrip()[:1] in ("'", '"', ")")
    return len(text) > 1 and text[0] + text[-1] in _BRACKETS and quoted


def is_unreadable(text: str) -> bool:
    """Whether an entry is a list or an object in brackets from which no tags can be read.

    >>> is_unreadable("{'dog': 0.9, 'cat': 0.1}"), is_unreadable("[['dog'], ['cat']]")
    (True, False)
    """
    plain = text.strip()
    return _is_bracketed(plain) and _bracketed(plain) is None


def _literal(text: str) -> list[str] | None:
    """The names in a list as JSON or Python write it, with lists and objects in it."""
    if _ADJACENT.search(text):
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            names = tag_names(read(text))
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
        return None if None in names else [name for name in names if name]
    return None


def tag_names(value: Any) -> list[str | None]:
    """The tags of a list, and of lists in it; ``None`` for what is no tag."""
    if isinstance(value, list | tuple | set):
        return [name for item in value for name in tag_names(item)]
    return [tag_name(value)]


def tag_name(item: Any) -> str | None:
    """The tag that an item of a list stands for: a text, a number, or an object with its name.

    An object with a score between 0 and 1 is a model's guess and no tag.
    """
    if isinstance(item, dict):
        scores = [item.get(key) for key in _SCORES]
        if any(score not in (None, 0, 1) for score in scores):
            return None
        if 0 in scores:
            return ""
        return next((item[key] for key in NAME_KEYS if isinstance(item.get(key), str)), None)
    if item is None or isinstance(item, str):
        return (item or "").strip()
    is_number = isinstance(item, int | float) and not isinstance(item, bool) and item == item // 1
    return str(item) if is_number else None


def is_multi_hot(value: Any) -> bool:
    """Whether a list holds only 1 and 0, one of them twice: no numbers of classes."""
    items = value if isinstance(value, list) else []
    return all(isinstance(item, int) and item in (0, 1) for item in items) and len(items) > len(
        set(items)
    )
