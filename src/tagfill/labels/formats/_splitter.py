"""How the tags in the entries of one source are told apart, by what all of its entries hold.

The usual marks always separate (see ``_tags``). Any other one, ``dog + cat`` or ``dog and cat``,
separates if the parts recur: on their own, or in other places of other entries. ``animal/bird``
and ``animal/dog`` are paths instead. Where the entries leave both possible they are refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tagfill.errors import TagfillError
from tagfill.labels.formats._tags import SEPARATORS, has_separator, separators_in, split_tags
from tagfill.labels.formats.base import ReadOptions

_BLANK = " "
_WORDS = ("and", "und", "et", "y")
_PATHS = ("/", ">", "\\", "→", "»", "›", "->", "::")  # noqa: RUF001
"""Marks that paths of tags have."""
_ARROWS = frozenset(_PATHS) - {"/", "\\", "::"}
"""Marks that hardly any name has."""
_SOFT = frozenset("-–—.:!?=<>'&%")  # noqa: RUF001
"""Marks that are common inside names, so that alone they raise no doubt."""
_NO_MARKS = frozenset("%'’\"()[]{}_°" + SEPARATORS)  # noqa: RUF001
_MARK = re.compile(r"(?<=[\w)])(\s*)([^\w\s]{1,3})(\s*)(?=[\w(])")
_WRAPPINGS = (
    re.compile(r"[-•*‣▪●○–·+]\s+(.+)"),  # noqa: RUF001
    re.compile(r"\d{1,2}[.)]\s+(.+)"),
    re.compile(r"[“„«‹‘](.+)[”“»›’]"),  # noqa: RUF001
    re.compile(r"<([^<>]+)>"),
)
"""What surrounds all items of lists that people write: bullets, numbers, quotes."""
_WORDY = 4.0
"""Sentences have more words than this."""
_SMALL = "a an the of in on at and with is are to from der die das ein eine und mit im am auf"
_SMALL_WORDS = frozenset(_SMALL.split())
"""Words of sentences, which tags lack."""
_FEW = 50
"""One of that many entries may be a phrase."""
HASHTAG = re.compile(r"(?<![&/])#(\w*[^\W\d_]\w*)")
_HASHTAG_NOTE = "tags are the words behind #, judging by content (--separator)"
_OTHERS = SEPARATORS + "\n\r\t"
_OPENING = ("[", "{", "(", "#", '"', "'")


@dataclass(frozen=True)
class Splitter:
    """How to take entries apart.

    Args:
        only: the only mark that separates tags, where the user names one.
        also: marks that do so besides the usual ones.
        path: the mark in tags that are paths, told or found.
        wrapping: what surrounds every tag and is no part of it.
        unsure: tags such as ``dog?``, which state nothing.
        hashtags: whether tags are the words behind # in a text, and nothing else is.
        notes: decisions a user should see.
    """

    only: str | None = None
    also: tuple[str, ...] = ()
    path: str | None = None
    wrapping: re.Pattern[str] | None = None
    unsure: frozenset[str] = frozenset()
    hashtags: bool = False
    notes: tuple[str, ...] = field(default=(), compare=False)

    def split(self, text: str) -> list[str]:
        if self.hashtags:
            return HASHTAG.findall(text)
        tags = split_tags(text, self.only, self.path)
        tags = [_unwrapped(tag, self.wrapping) for tag in tags]
        for mark in self.also:
            tags = [part for tag in tags for part in _parts(tag, mark)]
        return tags

    def tags(self, text: str) -> list[str]:
        """The tags of one entry of which people are sure."""
        return [tag for tag in self.split(text) if tag not in self.unsure]

    def last(self, tag: str) -> str:
        """The name a tag has as a class: of a path, its last one."""
        return tag.split(self.path)[-1].strip() if self.path else tag

    def mark_in(self, text: str, usual: str) -> str:
        """The mark to write between tags in an entry."""
        if self.only:
            return self.only
        here = [mark for mark in self.also if len(_parts(text, mark)) > 1]
        return next(iter([*separators_in([text]), *here]), self.also[0] if self.also else usual)


def find_splitter(texts: Iterable[str], options: ReadOptions, source: Path) -> Splitter:
    """How to take the entries of a source apart.

    Raises:
        TagfillError: a mark may separate tags or belong to them.
    """
    only, path = options.separator, options.hierarchy
    if only is not None:
        return Splitter(only, path=path)
    entries = Counter(text.strip() for text in texts if text.strip())
    if are_captions(entries):
        return Splitter(hashtags=True, notes=(_HASHTAG_NOTE,))
    counts = _count_tags(entries, None, path)
    if options.classes and counts.keys() <= set(options.classes):
        return Splitter(path=path)
    spaced = any(_BLANK in name for name in options.classes or ())
    if not spaced and blanks_separate(entries):
        note = "tags are separated by blanks, judging by content (--separator)"
        return Splitter(also=(_BLANK,), path=path, notes=(note,))
    name = _name_with_comma(entries)
    if name is not None:
        note = f"the comma is part of names such as {name!r}, judging by content (--separator)"
        return Splitter(";", path=path, notes=(note,))
    wrapping = next(
        (s for s in _WRAPPINGS if len(counts) > 1 and all(map(s.fullmatch, counts))), None
    )
    counts = Counter({_unwrapped(tag, wrapping): n for tag, n in counts.items()})
    if path is None:
        also, path, counts = _found_marks(counts, options.classes or (), source)
    else:
        also = ()
    notes = []
    if also:
        marks = ", ".join(map(repr, also))
        notes.append(f"{marks} separates tags, judging by content (--separator)")
    if path is not None and options.hierarchy is None:
        notes.append(f"tags with {path!r} are paths: they imply more general ones (--separator)")
    unsure = frozenset(tag for tag in counts if tag.endswith("?") and tag.rstrip("? ") in counts)
    if unsure:
        notes.append(f"tags with a question mark, such as {min(unsure)!r}, were left unknown")
    return Splitter(None, also, path, wrapping, unsure, notes=(*notes, *_remarks(counts)))


def _count_tags(entries: Mapping[str, int], only: str | None, path: str | None) -> Counter[str]:
    counts = Counter[str]()
    for text, times in entries.items():
        counts.update(dict.fromkeys(split_tags(text, only, path), times))
    return counts


def _name_with_comma(entries: Mapping[str, int]) -> str | None:
    """A tag such as ``Lee, Ann``, if semicolons separate tags and no part of them recurs."""
    if not any(";" in text and "," in text for text in entries):
        return None
    counts = _count_tags(entries, ";", None)
    joined = {tag: split_tags(tag) for tag in counts if "," in tag}
    owners = Counter(part.lower() for parts in joined.values() for part in set(parts))
    alone = {tag.lower() for tag in counts if tag not in joined}
    often = sum(counts[tag] for tag in joined) >= 2 * len(joined)
    names = len(joined) > 1 and max(owners.values()) == 1 and alone.isdisjoint(owners)
    return min(joined) if names and often else None


def _found_marks(
    counts: Counter[str], classes: Iterable[str], source: Path
) -> tuple[tuple[str, ...], str | None, Counter[str]]:
    """Marks that separate tags, the one in paths, and the tags that are then left."""
    listed = {name.lower() for name in classes}
    also: tuple[str, ...] = ()
    for mark in _candidates(counts):
        joined = {tag: parts for tag in counts if (parts := _parts(tag, mark)) != [tag]}
        if len(joined) < 2 or any(tag.lower() in listed for tag in joined):
            continue
        found = _Joined(mark, joined, {tag.lower(): n for tag, n in counts.items()})
        if found.are_several:
            also = (*also, mark)
            counts = Counter(part for tag in counts.elements() for part in _parts(tag, mark))
        elif found.are_paths:
            return also, mark, Counter(_parts(tag, mark)[-1] for tag in counts)
        elif found.are_doubtful:
            raise found.doubt(source)
    return also, None, counts


@dataclass(frozen=True)
class _Joined:
    """Tags with a mark in them.

    Args:
        mark: the mark.
        parts: the parts of each.
        times: how often every tag occurs, these and the others, in lower case.
    """

    mark: str
    parts: Mapping[str, Sequence[str]]
    times: Mapping[str, int]

    @property
    def is_soft(self) -> bool:
        return self.mark in _WORDS or set(self.mark) <= _SOFT | {_BLANK}

    @property
    def are_several(self) -> bool:
        """Whether the parts recur as tags do: alone, or in other places of other entries."""
        places: dict[str, set[bool]] = defaultdict(set)
        times = Counter[str]()
        for tag, parts in self.parts.items():
            for place, part in enumerate(parts):
                places[part.lower()].add(place == 0 and tag.startswith(part))
                times[part.lower()] += 1
        joined = {tag.lower() for tag in self.parts}
        alone = {part for part in times if part in self.times and part not in joined}
        moving = {part for part in times if len(places[part]) > 1}
        again = sum(times[part] for part in alone | moving)
        few = len(self.parts) < (3 if self.is_soft else 2)
        most = 0.9 if self.is_soft else 2 / 3
        recur = bool(moving) or len(alone) == len(times)
        return recur and not few and again >= most * sum(times.values())

    @property
    def are_paths(self) -> bool:
        """Whether every part always follows the same one, and many follow the same.

        Of arrows it is enough that two tags begin alike.
        """
        above: dict[str, set[str]] = defaultdict(set)
        for parts in self.parts.values():
            for parent, child in zip(("", *parts), parts, strict=False):
                above[child.lower()].add(parent.lower())
        roots = {parts[0].lower() for parts in self.parts.values()}
        if self.mark in _ARROWS and len(roots) < len(self.parts):
            return not any(part.isdecimal() for part in above)
        tree = all(len(parents) == 1 for parents in above.values())
        half = 2 * len(roots) <= len(self.parts)
        everywhere = len(self.parts) == len(self.times) >= len(roots) + 2
        shared = len(self.parts) > 3 and (half or everywhere)
        return self.mark in _PATHS and tree and shared and 2 * len(self.parts) >= len(self.times)

    @property
    def are_doubtful(self) -> bool:
        """Whether most tags are joined, in ways that hardly recur."""
        times = sum(self.times[tag.lower()] for tag in self.parts)
        most = 2 * len(self.parts) > len(self.times)
        return most and not self.is_soft and len(self.parts) > 2 and times < 2 * len(self.parts)

    def doubt(self, source: Path) -> TagfillError:
        mark = repr(self.mark.strip())
        paths = f", --hierarchy {mark} if they are paths" if self.mark in _PATHS else ""
        return TagfillError(
            f"entries such as {min(self.parts)!r} may be one tag or several",
            file=source,
            remedy=f"--separator {mark} takes them apart{paths}, --separator ';' leaves them whole",
        )


def marks_between(tags: Iterable[str], marks: str) -> tuple[str, ...]:
    """Which marks separate several tags in what should be single ones: their parts recur."""
    times = Counter(tags)
    found = []
    for mark in marks:
        joined = {tag: parts for tag in times if len(parts := _parts(tag, mark)) > 1}
        if _Joined(mark, joined, {tag.lower(): n for tag, n in times.items()}).are_several:
            found.append(mark)
    return tuple(found)


def _parts(tag: str, mark: str) -> list[str]:
    if mark == _BLANK:
        return tag.split()
    between = rf"(?:^|\s+){mark}\s+" if mark in _WORDS else rf"\s*{re.escape(mark.strip())}\s*"
    if mark != mark.strip():
        between = re.escape(mark).replace("\\ ", r"\s+")
    return [part for part in re.split(between, tag) if part]


def _candidates(counts: Mapping[str, int]) -> list[str]:
    """Marks between words, the most frequent first; some only if blanks surround them."""
    times = Counter[str]()
    for tag in counts:
        marks = {_as_mark(*match) for match in _MARK.findall(tag)}
        marks |= {word for word in _WORDS if len(_parts(f"x {tag}", word)) > 1}
        times.update(sorted(marks - {""}))  # the order decides between equally frequent ones
    return [mark for mark, count in times.most_common() if count > 1]


def _as_mark(before: str, mark: str, after: str) -> str:
    kinds = {unicodedata.category(letter) for letter in mark}
    if set(mark) & _NO_MARKS or not kinds <= {"Po", "Pd", "Sm", "Sk", "Pf", "Pi"}:
        return ""
    if kinds == {"Pd"}:
        return f" {mark} " if before and after else ""
    if set(mark) <= set(".:?"):
        return f"{mark} " if after else mark if len(mark) > 1 else ""
    return mark


def _unwrapped(tag: str, wrapping: re.Pattern[str] | None) -> str:
    match = wrapping.fullmatch(tag) if wrapping is not None else None
    return match[1].strip() if match else tag


def _remarks(counts: Mapping[str, int]) -> list[str]:
    """Notes on tags that look like several words for several things, or like sentences."""
    words = {tag: tag.split() for tag in counts}
    if counts and sum(map(len, words.values())) > _WORDY * len(counts):
        return [f"tags such as {min(counts)!r} look like sentences; each was read as one tag"]
    joined = sorted(tag for tag in counts if len(words[tag]) > 1)
    parts = {part for tag in counts for part in words[tag]}
    longer = len({len(words[tag]) for tag in joined}) > 2
    if 2 * len(joined) > len(counts) > 4 and (longer or len(parts) < len(counts)):
        return [
            f"tags such as {joined[0]!r} look like several: --separator ' ' would make"
            f" {len(parts):,} tags of {len(counts):,}"
        ]
    return []


def are_captions(texts: Iterable[str]) -> bool:
    """Whether entries are texts with hashtags, so that only these are tags.

    >>> are_captions(["Sunset at the pier #sea #sky", "#sky"]), are_captions(["cat, #dog", "#cat"])
    (True, False)
    """
    entries = [text for text in texts if text.strip()]
    tagged = sum("#" in text and HASHTAG.search(text) is not None for text in entries)
    if len(entries) < 2 or 2 * tagged < len(entries):
        return False
    parts = [part for text in entries for part in split_tags(HASHTAG.sub("", text))]
    return sum(len(part.split()) for part in parts) > 2 * len(parts)


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
    if any(has_separator(entry, _OTHERS) or entry.startswith(_OPENING) for entry in entries):
        return False
    words = [entry.lower().split() for entry in entries]
    joined = [entry for entry in words if len(entry) > 1]
    if len(joined) < 2 or _FEW * sum(map(_is_phrase, joined)) > len(joined):
        return False
    # an underscore stands where names of several words would have a blank
    glued = [entry for entry in joined if any("_" in word.strip("_") for word in entry)]
    return 3 * len(glued) >= len(joined) or _are_combined(words, joined)


def _is_phrase(words: list[str]) -> bool:
    """Whether words are of a sentence, or marks stand between them."""
    return (
        len(set(words)) < len(words)
        or not _SMALL_WORDS.isdisjoint(words)
        or any(word.endswith((".", ":")) or not any(map(str.isalnum, word)) for word in words)
    )


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
