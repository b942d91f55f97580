"""Whether blanks separate the tags of an entry, or belong to tags of several words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tagfill.labels.formats._tags import has_separator

_SMALL = "a an the of in on at and with is are to from der die das ein eine und mit im am auf"
_SMALL_WORDS = frozenset(_SMALL.split())
"""Words of sentences, which tags lack."""
_FEW = 50
"""One of that many entries may be a phrase."""
_OPENING = ("[", "{", "(", "#", '"', "'")


def blanks_separate(texts: Iterable[str]) -> bool:
    """Whether entries are tags with blanks between them.

    That is so if no other mark separates anything, hardly any entry has a word twice, and either
    the words are glued inside (``blow_down clear``), or they are in several places of many
    entries, as words of names such as ``polar bear`` are not.

    >>> blanks_separate(["haze blow_down", "clear", "blow_down clear"])
    True
    >>> blanks_separate(["polar bear", "black bear", "black bird", "sea bird", "sea lion"])
    False
    """
    entries = {text.strip() for text in texts if text.strip()}
    if any(has_separator(entry) or entry.startswith(_OPENING) for entry in entries):
        return False
    words = [entry.lower().split() for entry in entries]
    joined = [entry for entry in words if len(entry) > 1]
    if len(joined) < 2 or _FEW * sum(map(_is_phrase, joined)) > len(joined):
        return False
    return _are_glued(joined) or _are_combined(words, joined)


def _is_phrase(words: list[str]) -> bool:
    return len(set(words)) < len(words) or not _SMALL_WORDS.isdisjoint(words)


def _are_glued(joined: list[list[str]]) -> bool:
    """Whether words have an underscore where names of several words would have a blank."""
    glued = [entry for entry in joined if any("_" in word.strip("_") for word in entry)]
    return 3 * len(glued) >= len(joined)


def _are_combined(words: list[list[str]], joined: list[list[str]]) -> bool:
    """Whether the same words make up all entries, in changing places."""
    places: dict[str, set[int]] = defaultdict(set)
    for entry in joined:
        for place, word in enumerate(entry):
            places[word].add(min(place, 1) + (place == len(entry) - 1 > 0))
    moving = [word for word in places if len(places[word]) > 1]
    alone = {entry[0] for entry in words if len(entry) == 1}
    long = any(len(entry) > 2 for entry in joined)
    if long and moving and places.keys() <= alone:
        return True
    return 3 * len(moving) >= len(places) and len(words) >= 2 * len(places)
