"""Spellings of one tag: find, list and, on request, merge them."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tomli_w
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from tagfill.errors import TagfillError
from tagfill.files import write_text
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats.base import ReadOptions
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, LabelTable
from tagfill.settings import load_toml

VariantKind = Literal["case", "spelling", "plural", "synonym", "typo"]
Aliases = tuple[tuple[str, str], ...]
"""Names, and the class each stands for."""

MOST_CLASSES = 5_000
"""With more classes only case and spelling are compared: there are too many pairs."""
_LONGEST = 60
"""Longest tag that is compared letter by letter."""
_RARER = 4
"""A typo is at least this many times rarer than the right word."""
_ONE_TYPO, _TWO_TYPOS = 5, 7
"""Letters a word needs to have one or two typos."""
_COUNT = re.compile(r"(?<=\S)\s*\(\s*\d{1,3}\s*\)$|\s+[x×]\s?\d{1,3}$")  # noqa: RUF001
"""What follows a tag where people count: ``dog (2)``, ``dog x2``."""
_DENIAL = re.compile(r"[-!~]\s*|(?:no|not|without|kein|keine|nicht|ohne)[\s_]+")
_LOOK_ALIKE = str.maketrans("асеорхуіѕј", "aceopxyisj")  # noqa: RUF001
"""Cyrillic letters as the Latin ones that look like them."""
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
"""A letter as JSON may write it."""
_PLURALS = (
    "person:people man:men woman:women child:children mouse:mice foot:feet goose:geese tooth:teeth"
    " leaf:leaves wolf:wolves knife:knives shelf:shelves"
)
_IRREGULAR = dict(pair.split(":") for pair in _PLURALS.split())


@dataclass(frozen=True)
class Variants:
    """Spellings that look like one tag.

    Args:
        kind: how they differ.
        name: the spelling to keep.
        others: the other spellings.
        positives: how many images have each, the one to keep first.
    """

    kind: VariantKind
    name: str
    others: tuple[str, ...]
    positives: tuple[int, ...]

    def __str__(self) -> str:
        shown = [
            f"{n!r} ({k:,})" for n, k in zip((self.name, *self.others), self.positives, strict=True)
        ]
        return f"{', '.join(shown[1:])} like {shown[0]} ({self.kind})"


def find_variants(table: LabelTable) -> list[Variants]:
    """Spellings of one tag, each class in at most one group, the most frequent groups first."""
    counts = _positives(table)
    number_of = {_spelling_key(w): n for n, words in enumerate(synonyms()) for w in words}
    taken: set[str] = set()
    groups = [
        *_alike(counts, _case_key, "case", taken),
        *_alike(counts, _spelling_key, "spelling", taken),
        *_plurals(counts, taken),
        *_alike(counts, lambda name: number_of.get(_spelling_key(name)), "synonym", taken),
    ]
    if len(counts) <= MOST_CLASSES:
        groups += _typos(table, {name: n for name, n in counts.items() if name not in taken})
    return sorted(groups, key=lambda group: -sum(group.positives))


def find_denials(classes: Iterable[str]) -> dict[str, str]:
    """Tags such as ``-cat`` or ``no cat`` that look like a no to another tag.

    >>> find_denials(["cat", "-cat", "no cat", "nocturnal"])
    {'-cat': 'cat', 'no cat': 'cat'}
    """
    by_case = {_case_key(name): name for name in classes}
    denials = {}
    for key, name in by_case.items():
        match = _DENIAL.match(key)
        if match and key[match.end() :] in by_case:
            denials[name] = by_case[key[match.end() :]]
    return denials


def with_denials(dataset: Dataset, denials: Mapping[str, str]) -> tuple[Dataset, int]:
    """The data set with a tag such as ``no cat`` read as a no to the tag ``cat``.

    Also returns how many images have both, of which nothing is known then.
    """
    table, clashes = dataset.table, 0
    values, column_of = table.values.copy(), {name: n for n, name in enumerate(table.classes)}
    for name, tag in denials.items():
        denied, stated = values[:, column_of[name]] == POSITIVE, values[:, column_of[tag]]
        both = denied & (stated == POSITIVE)
        stated[denied] = NEGATIVE
        stated[both] = UNKNOWN
        clashes += int(both.sum())
    values[:, [column_of[name] for name in denials]] = UNKNOWN
    stated_only = replace(dataset, table=table.with_values(values))
    return merged(stated_only, tuple(denials.items())), clashes


def find_garbled(classes: Iterable[str]) -> dict[str, str]:
    """Tags with letters that a program read or wrote wrongly, with what they were.

    >>> find_garbled(["KÃ¤fer", "Käfer", "cat", "K\\\\u00e4fer", "K\\ufffdfer"])
    {'KÃ¤fer': 'Käfer', 'K\\\\u00e4fer': 'Käfer', 'K\\ufffdfer': 'K?fer'}
    """
    garbled = {}
    for name in classes:
        try:
            meant = _ESCAPED.sub(lambda code: chr(int(code[1], 16)), name)
            meant = meant.replace("\ufffd", "?")
            if meant == name and not name.isascii():
                meant = name.encode("cp1252").decode()
        except UnicodeError:
            continue
        if meant != name:
            garbled[name] = meant
    return garbled


def merge_case(table: LabelTable) -> Aliases:
    """Aliases that merge names that differ only in case."""
    groups = _alike(_positives(table), _case_key, "case", set())
    return tuple((other, group.name) for group in groups for other in group.others)


def drop_counts(classes: Sequence[str]) -> Aliases:
    """Aliases for tags with counts, ``dog (2)`` for ``dog``, where most tags have one.

    >>> drop_counts(["dog (2)", "dog (1)", "cat x3"]), drop_counts(["type (1)", "type (2)"])
    ((('dog (2)', 'dog'), ('dog (1)', 'dog'), ('cat x3', 'cat')), ())
    """
    counted = tuple((name, _COUNT.sub("", name)) for name in classes if _COUNT.search(name))
    several = len({target for _, target in counted}) > 1
    return counted if several and 3 * len(counted) >= 2 * len(classes) else ()


def merged(dataset: Dataset, aliases: Aliases) -> Dataset:
    """The data set with classes merged by aliases; an image has a class if it has any of its names.

    Raises:
        TagfillError: aliases lead in a circle.
    """
    final = _resolved(aliases)
    old = dataset.table.classes
    if not any(name in final for name in old):
        return dataset
    names = [final.get(name, name) for name in old]
    classes = tuple(dict.fromkeys(names))
    column_of = {name: column for column, name in enumerate(classes)}
    place = np.array([column_of[name] for name in names], dtype=np.intp)

    hierarchy = {
        final.get(child, child): tuple(final.get(parent, parent) for parent in parents)
        for child, parents in dataset.hierarchy.items()
    }

    def table(of: LabelTable) -> LabelTable:
        values = np.full((len(of), len(classes)), UNKNOWN, dtype=np.int8)
        for column, target in enumerate(place.tolist()):  # 1 wins over 0, and 0 over -1
            values[:, target] = np.maximum(values[:, target], of.values[:, column])
        return LabelTable(of.images, classes, values, hierarchy)

    boxes, suggestions = dataset.boxes, dataset.suggestions
    return replace(
        dataset,
        table=table(dataset.table),
        truth=None if dataset.truth is None else table(dataset.truth),
        boxes=None if boxes is None else replace(boxes, label=place[boxes.label]),
        suggestions=None
        if suggestions is None
        else replace(suggestions, label=place[suggestions.label]),
    )


def canonical_names(classes: Sequence[str], options: ReadOptions) -> Callable[[str], str]:
    """How a name in a file is read: by its alias, or as the class that differs only in case."""
    final = _resolved(options.aliases)
    by_case = {_case_key(name): name for name in reversed(classes)}

    def name_of(name: str) -> str:
        meant = final.get(name, name)
        if meant in classes:
            return meant
        uncounted = _COUNT.sub("", meant)
        known = by_case.get(_case_key(meant), by_case.get(_case_key(uncounted)))
        return meant if known is None else known

    return name_of


def read_aliases(path: Path) -> Aliases:
    """The names of an aliases file, each with its class."""
    document = load_toml(path)
    listed = document.get("aliases", document)
    if not isinstance(listed, dict) or not all(isinstance(name, str) for name in listed.values()):
        raise TagfillError('expected lines such as "CAT" = "cat"', file=path)
    aliases = tuple((name.strip(), target.strip()) for name, target in listed.items())
    if not all(name and target for name, target in aliases):
        raise TagfillError("a name is empty", file=path)
    _resolved(aliases)
    return aliases


def write_aliases(variants: Sequence[Variants], path: Path) -> None:
    """Write proposed aliases for review; ``--aliases`` reads them."""
    lines = ["# The tag on the left becomes the class on the right; delete wrong lines.", ""]
    lines.append("[aliases]")
    for group in variants:
        lines += ["", f"# {group.kind}: {' '.join(str(group).split())}"]
        lines += [tomli_w.dumps({other: group.name}).strip() for other in group.others]
    write_text(path, "\n".join(lines) + "\n")


def _positives(table: LabelTable) -> dict[str, int]:
    return dict(zip(table.classes, (table.values == POSITIVE).sum(axis=0).tolist(), strict=True))


def _case_key(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _spelling_key(name: str) -> str:
    """The name without accents, hyphens, word order and Cyrillic letters that look Latin."""
    plain = unicodedata.normalize("NFKD", _case_key(name))
    plain = plain.translate(_LOOK_ALIKE)
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return " ".join(sorted(re.split(r"[\s_\-]+", letters)))


def _plurals(counts: Mapping[str, int], taken: set[str]) -> list[Variants]:
    name_of = {_spelling_key(name): name for name in counts if name not in taken}
    pairs = []
    for key, name in name_of.items():
        ending = {key + "s", key + "es", key.removesuffix("y") + "ies", _IRREGULAR.get(key, key)}
        pairs += [(name, name_of[plural]) for plural in sorted(ending - {key}) if plural in name_of]
    groups = [_group("plural", pair, counts) for pair in pairs if not taken.intersection(pair)]
    taken.update(other for group in groups for other in group.others)
    return groups


@cache
def synonyms() -> tuple[tuple[str, ...], ...]:
    """Groups of words for one thing, English and German: a few plain words only."""
    lines = (files("tagfill.labels") / "synonyms.txt").read_text(encoding="utf-8").splitlines()
    groups = (line.split() for line in lines if not line.startswith("#"))
    return tuple(tuple(word.replace("_", " ") for word in words) for words in groups)


def _alike(
    counts: Mapping[str, int], key: Callable[[str], Any], kind: VariantKind, taken: set[str]
) -> list[Variants]:
    """Groups of names with the same key, if any; adds all but the kept name to ``taken``."""
    groups: defaultdict[Any, list[str]] = defaultdict(list)
    for name in counts:
        if name not in taken and (value := key(name)) is not None:
            groups[value].append(name)
    alike = [_group(kind, names, counts) for names in groups.values() if len(names) > 1]
    taken.update(other for group in alike for other in group.others)
    return alike


def _group(kind: VariantKind, names: Iterable[str], counts: Mapping[str, int]) -> Variants:
    ranked = sorted(names, key=lambda name: (-counts[name], name))
    lower = [
        name for name in ranked if name == name.lower() and 4 * counts[name] >= counts[ranked[0]]
    ]
    kept = (lower or ranked)[0] if kind == "case" else ranked[0]
    others = tuple(name for name in ranked if name != kept)
    return Variants(kind, kept, others, tuple(counts[name] for name in (kept, *others)))


def _typos(table: LabelTable, counts: Mapping[str, int]) -> list[Variants]:
    """Rare names one or two letters off a frequent one that never occurs with it."""
    names = sorted((n for n in counts if len(n) <= _LONGEST), key=lambda name: -counts[name])
    if len(names) < 2:
        return []
    keys = [_spelling_key(name) for name in names]
    distance = cdist(keys, keys, scorer=OSA.distance, score_cutoff=2, dtype=np.uint8)
    column_of = {name: column for column, name in enumerate(table.classes)}
    positive = table.values == POSITIVE
    denied = find_denials(table.classes)
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for right, wrong in np.argwhere(np.triu(distance <= 2, k=1)).tolist():
        letters = min(len(keys[right]), len(keys[wrong]))
        allowed = (letters >= _ONE_TYPO) + (letters >= _TWO_TYPOS)
        same_digits = re.sub(r"\D", "", keys[right]) == re.sub(r"\D", "", keys[wrong])
        denial = names[wrong] in denied or names[right] in denied
        if distance[right, wrong] > allowed or not same_digits or denial:
            continue
        rarer = _RARER * counts[names[wrong]] <= counts[names[right]]
        columns = positive[:, [column_of[names[right]], column_of[names[wrong]]]]
        if rarer and not columns.all(axis=1).any():
            groups[names[right]].append(names[wrong])
    taken: set[str] = set()
    typos = []
    for name, others in groups.items():  # each name is in one group
        free = [other for other in others if other not in taken]
        if free and name not in taken:
            taken.update((name, *free))
            typos.append(_group("typo", (name, *free), counts))
    return typos


def _resolved(aliases: Aliases) -> dict[str, str]:
    """Every name with the class at the end of its chain."""
    direct = {name: target for name, target in aliases if name != target}
    final = {}
    for name in direct:
        target, seen = direct[name], {name}
        while target in direct:
            if target in seen:
                raise TagfillError(f"aliases form a cycle at {target!r}")
            seen.add(target)
            target = direct[target]
        final[name] = target
    return final
