"""Entries that say more than which tags there are, or less: such tables are refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tagfill.labels.formats._tags import is_unreadable, split_tags, without_call
from tagfill.labels.formats._ticks import quoted
from tagfill.labels.formats.base import Source

_NAME = r"(?:.*[^\W\d_].*?|\d+)"
_VALUED = re.compile(
    rf"{_NAME}[:=]\s*(?:[01](?:[.,]\d+)?|[.,]\d+)|.*[^\W\d_].*?[:=]\s*\d{{1,3}}"
    rf"|{_NAME}(?:[:=(]|\s)\s*(?:[01]?[.,]\d+|\d{{1,3}}(?:[.,]\d+)?\s?%)\s*\)?"
    r"|\(.*:\s*\d(?:[.,]\d+)?\)|\d*\.\d*[1-9]\d*(?:e-\d+)?"
)
"""A tag with how sure somebody is of it, or how often: ``dog: 0.9``, ``(dog:1.2)``, ``dog:3``;
or that alone: ``0.9``."""
_SIGNED = re.compile(r"[+-]\w\S*(?:\s+[+-]\w[^\s,;|]*)+")
_MULTI_HOT = re.compile(r"[\[(]?\s*[01]\.?(?:[,\s]+[01]\.?)+\s*[\])]?|[01]{3,}")
_CUT_OFF = re.compile(r"[\[{(](?=.*(?:\.\.\.|…)\s*(?:[,\d]|$)).*", re.DOTALL)
"""The beginning of a list, as numpy and pandas print long ones."""
_ANSWERED = re.compile(
    r"(.+?)(?:\s*[:=(_\s-]\s*(?:(?P<no>no|false|absent|negative|neg|nein|non|falsch|faux)"
    r"|yes|true|present|positive|pos|ja|oui|sí|wahr|vrai)"
    r"|(?:(?<=\S{3})|\s*\()(?:(?P<minus>[-\N{MINUS SIGN}])|\+))\)?",
    re.IGNORECASE,
)
"""A tag with yes or no behind it: ``cat=yes``, ``dog: no``, ``dog absent``, ``cat(+)``."""

_ANSWERS = (
    *("no", "false", "absent", "negative", "neg", "nein", "non", "falsch", "faux", "+", "-", ")"),
    *(
        "yes",
        "true",
        "present",
        "positive",
        "pos",
        "ja",
        "oui",
        "sí",
        "wahr",
        "vrai",
        "\N{MINUS SIGN}",
    ),
)
"""What such tags end in."""
_OPENED = re.compile(r"[“„«][^“”»]*")
"""A tag that begins in typographic quotes and does not end in them."""

Entries = Sequence[tuple[int, str]]
Doubt = tuple[int | None, str, str]
"""The row, what is wrong there, and what to do about it."""


def refuse_values(source: Source, entries: Entries) -> None:
    """Refuse entries that say more than which tags there are: they would become classes.

    Raises:
        TagfillError: tags with scores or answers, objects with values, or lists of 1 and 0.
    """
    filled = [(row, without_call(text)) for row, text in entries if text.strip()]
    tags = {tag: row for row, text in reversed(filled) for tag in split_tags(text)}
    for row, message, remedy in _in_entries(filled):
        raise source.refusal(message, row, remedy=remedy)
    refuse_tags(source, tags)


def refuse_tags(source: Source, tags: Mapping[str, int | None]) -> None:
    """Refuse tags with scores or answers in them.

    Args:
        source: what is being read.
        tags: each tag, and a row that has it.

    Raises:
        TagfillError: most tags have scores, or some have answers.
    """
    for row, message, remedy in _in_tags(tags, source.options.classes):
        raise source.refusal(message, row, remedy=remedy)


def _in_entries(filled: Entries) -> Iterator[Doubt]:
    for row, text in filled:
        if _CUT_OFF.fullmatch(text):
            cut = f"an entry is the beginning of a longer list: {quoted(text)}"
            yield row, cut, "export the whole lists, not as they are printed"
        if is_unreadable(text):
            unread = "an entry is a list or an object that holds more than tags"
            remedy = "write the tags alone, or 1 and 0 in one column per tag"
            yield row, f"{unread}: {quoted(text)}", remedy
    hot = [text for _, text in filled if _MULTI_HOT.fullmatch(text)]
    repeats = any(text.count("0") > 1 or text.count("1") > 1 for text in hot)  # no class numbers
    if hot and len(hot) == len(filled) and len(set(map(len, hot))) == 1 and repeats:
        nameless = f"entries are lists of 1 and 0, such as {quoted(hot[0])}, without names"
        remedy = "write them in one column per class, with the names in the header"
        yield filled[0][0], f"{nameless} of classes", remedy
    signed = [(row, text) for row, text in filled if _SIGNED.fullmatch(text)]
    if 2 * len(signed) > len(filled):
        signs = f"tags have signs and only blanks between them, such as {quoted(signed[0][1])}"
        yield signed[0][0], signs, "write them as 'cat; -dog': -dog says that there is none"


def _in_tags(tags: Mapping[str, int | None], classes: Sequence[str] | None) -> Iterator[Doubt]:
    valued = [tag for tag in tags if _VALUED.fullmatch(tag)]
    if valued and 3 * len(valued) >= 2 * len(tags):
        first = min(valued, key=lambda tag: tags[tag] or 0)
        followed = f"tags are values or followed by values, such as {quoted(first)}"
        remedy = "keep the tags that you trust, without values, or use columns image, label and"
        yield tags[first], followed, f"{remedy} value with 1 and 0"
    answered = answered_names(tag for tag in tags if classes is None)
    opened = [tag for tag in tags if _OPENED.fullmatch(tag)]
    if opened:
        half = f"a mark cuts what is in typographic quotes, such as {quoted(opened[0])}"
        yield tags[opened[0]], half, "write plain quotes"
    if len(answered) > 1:
        row = tags[min(answered.values(), key=lambda tag: tags[tag] or 0)]
        shown = " and ".join(map(quoted, list(answered.values())[:2]))
        remedy = (
            "use columns image, label and value, with yes or no as the value; --classes keeps them"
        )
        yield row, f"tags are followed by yes or no, such as {shown}", remedy


def answered_names(tags: Iterable[str]) -> dict[str, str]:
    """Names that stand with a yes and with a no behind them, each with the latter.

    >>> answered_names(["cat yes", "cat no", "dog no", "fox+", "fox-", "A+", "A-"])
    {'cat': 'cat no', 'fox': 'fox-'}
    """
    said: dict[bool, dict[str, str]] = {True: {}, False: {}}
    for tag in tags:
        match = _ANSWERED.fullmatch(tag) if tag.lower().endswith(_ANSWERS) else None
        if match:
            said[bool(match["no"] or match["minus"])][match[1].lower()] = tag
    return {name: tag for name, tag in said[True].items() if name in said[False]}
