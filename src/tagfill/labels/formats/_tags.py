r"""Several tags in one entry, with any common separator.

Tags are separated by ``;``, ``|``, ``,`` and line ends, all of them unless one is named; a
backslash before a mark (or before a backslash) makes it part of the tag. Lists in brackets, as
pandas, numpy and JSON write them, are taken apart too, and so is the object with choices that
Label Studio writes. A tag in quotes keeps the marks inside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

SEPARATORS = ";|,"
_ESCAPE = re.compile(r"""([\\;|,\n\r]|^[\[{#"'])""")
_UNESCAPE = re.compile(r"""\\([\\;|,\n\r\[{#"'])""")
_PART = re.compile(r"(?:\\.|[^;|,\n\r])*[;|,\n\r]*\s*", re.DOTALL)
_LISTED = re.compile(
    r"""\s*(?:(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")(?:\s*(?:,|$)|\s+(?=["']))"""
    r"""|([^,\[\]{}"']+)(?:,|$))"""
)
_CHOICES = re.compile(r"""\{\s*["']choices["']\s*:\s*(\[.*\])\s*\}""", re.DOTALL)
_QUOTED = re.compile(r"""(?P<quote>["'])(?P<tag>[^"']+)(?P=quote)\s*(?=[;|,\n\r]|$)""")
_HASHTAG = re.compile(r"^#(?=[^\s#])")
_HASHTAGS = re.compile(r"#[^\s#]+(?:\s+#[^\s#]+)+")


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
    """
    plain = text.strip()
    if separator is None:
        listed = _bracketed(plain)
        if listed is not None:
            return listed
        if _HASHTAGS.fullmatch(plain):
            return [tag.removeprefix("#").rstrip(SEPARATORS) for tag in plain.split()]
        parts = (_HASHTAG.sub("", part.strip()) for part in _parts(plain, separator, kept))
    else:
        parts = (part.strip() for part in _parts(plain, separator, kept))
    return [_UNESCAPE.sub(r"\1", part) for part in parts if part]


def join_tags(tags: Iterable[str], separator: str = ";") -> str:
    """One entry of tags; marks inside tags are escaped."""
    return separator.join(_ESCAPE.sub(r"\\\1", tag) for tag in tags)


_NO_TAGS = {"-", "--", "\N{EM DASH}", "/", "?", "none", "untagged", "n/a", "na", "nan", "null"}
_NO_TAGS |= {"unknown", "unbekannt", "keine", "kein", "ohne"}


def says_nothing(text: str) -> bool:
    """Whether an entry is a word for no tags, as people and programs write it.

    >>> says_nothing("-"), says_nothing("None"), says_nothing("nun")
    (True, True, False)
    """
    return text.strip().lower() in _NO_TAGS


def has_separator(text: str, marks: str = SEPARATORS) -> bool:
    """Whether an entry holds more than one tag."""
    bare = _UNESCAPE.sub("", text)
    return any(mark in bare for mark in marks)


def separators_in(texts: Iterable[str]) -> list[str]:
    """The separators that occur."""
    bare = [_UNESCAPE.sub("", text) for text in texts]
    return [mark for mark in SEPARATORS if any(mark in text for text in bare)]


def _parts(text: str, separator: str | None, kept: str | None) -> list[str]:
    if separator is None:
        marks = SEPARATORS.replace(kept or "", "")
        text = _keep_quoted(text)
        return re.findall(rf"((?:\\[\\;|,\n\r]|[^{marks}\n\r])+)", text)
    pattern = rf"((?:\\[\\;|,\n\r]|(?!{re.escape(separator)}).)+)"
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
    if len(text) < 2 or text[0] + text[-1] not in ("[]", "{}"):
        return None
    choices = _CHOICES.fullmatch(text)
    if choices:
        return _bracketed(choices[1])
    inner, names, place = text[1:-1].strip(), [], 0
    while place < len(inner):
        match = _LISTED.match(inner, place)
        if match is None or match.end() == place:
            return None
        name = next(group for group in match.groups() if group is not None)
        names.append(re.sub(r"\\(.)", r"\1", name).strip())
        place = match.end()
    return [name for name in names if name]
