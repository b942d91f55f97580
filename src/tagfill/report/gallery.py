"""Entries to show: recovered tags, errors, and labels in doubt, each with its picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

import numpy as np

from tagfill.evaluate.arrays import Floats, Mask
from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Labels
from tagfill.recover.choose import DEFAULT_PRECISION, Amount
from tagfill.recover.evaluate import Cut, cuts
from tagfill.recover.recovery import Recovery
from tagfill.report.content import RunContent
from tagfill.report.pictures import Shown, show
from tagfill.train.data import Split

RECOVERED, ERRORS = 12, 6
PER_CLASS = 2
_CANDIDATES = 5000
"""Entries to choose from, the most extreme first."""


@dataclass(frozen=True)
class Card:
    """One tag of one image.

    Args:
        image: its name.
        tag: in question.
        column: number of the class.
        probability: that the tag is present.
        known: tags it is labeled with.
        path: the file, where there is one.
        true: whether the tag is present, where known.
        shown: picture and heat map, where they could be made.
    """

    image: str
    tag: str
    column: int
    probability: float
    known: tuple[str, ...]
    path: Path | None = None
    true: bool | None = None
    shown: Shown | None = None


@dataclass(frozen=True)
class Recovered:
    """Missing tags.

    Args:
        images: the searched ones.
        of_images: all images.
        unknown: unlabeled entries among them.
        expected_missing: tags expected to be missing.
        share_written: share of the present tags that is known.
        missing: tags that are missing, where the truth is known.
        summary: what was found, in one sentence.
        suggestions: tags at the requested expected precision.
        precision: the requested precision.
        cuts: how many tags at several precisions.
        how: where the probabilities come from.
        cards: the most likely.
    """

    images: int
    of_images: int
    unknown: int
    expected_missing: float
    share_written: float
    missing: int | None
    summary: str
    suggestions: int
    precision: float
    cuts: tuple[Cut, ...]
    how: tuple[str, ...]
    cards: Sequence[Card]


@dataclass(frozen=True)
class Errors:
    """Where model and labels disagree.

    Args:
        split: the held-out images of the first three groups.
        groups: ``unlabeled``, predicted tags without a label; ``imagined``, predicted tags that are
            known to be absent; ``missed``, present tags that are not predicted; ``doubted``,
            labeled tags of training images to which out-of-fold heads give a low probability.
        all_known: whether every entry of the split is known.
        no_negatives: whether no entry of the split is known to be negative.
    """

    split: str
    groups: Mapping[str, Sequence[Card]]
    all_known: bool
    no_negatives: bool


def recovered(
    content: RunContent, recovery: Recovery, precision: float = DEFAULT_PRECISION
) -> Recovered:
    """Metrics of recovery, and the most likely missing tags."""
    assert content.data is not None
    split, truth = _split(recovery), recovery.truth
    probability, unknown = recovery.probability, recovery.unknown
    likeliest = _picked(-probability, unknown, RECOVERED)
    suggested = recovery.suggest(Amount(precision))
    return Recovered(
        images=len(recovery.table),
        of_images=sum(map(len, content.data.splits.values())),
        unknown=int(unknown.sum()),
        expected_missing=recovery.expected_missing,
        share_written=recovery.share_written,
        missing=None if truth is None else int((truth[unknown] == POSITIVE).sum()),
        summary=recovery.summary(suggested),
        suggestions=len(suggested),
        precision=precision,
        cuts=tuple(cuts(probability, unknown, truth)),
        how=recovery.evidence.how,
        cards=_cards(split, likeliest, probability, truth),
    )


def errors(content: RunContent, recovery: Recovery | None) -> Errors | None:
    """Errors on held-out images, and doubtful labels of training images."""
    held = content.evaluated
    if held is None:
        return None
    labels, chance, predicted = held.labels, held.probabilities, held.decided
    picked = {
        "unlabeled": _picked(-chance, (labels == UNKNOWN) & predicted, ERRORS),
        "imagined": _picked(-chance, (labels == NEGATIVE) & predicted, ERRORS),
        "missed": _picked(chance, (labels == POSITIVE) & ~predicted, ERRORS),
    }
    groups = {name: _cards(held.split, entries, chance, None) for name, entries in picked.items()}
    return Errors(
        held.name,
        groups | {"doubted": _doubted(content, recovery)},
        all_known=not (labels == UNKNOWN).any(),
        no_negatives=not held.has_negatives,
    )


def illustrated(
    content: RunContent, tags: Recovered | None, mistakes: Errors | None
) -> tuple[Recovered | None, Errors | None]:
    """The same with thumbnails and heat maps on all cards."""
    groups = {} if mistakes is None else dict(mistakes.groups)
    if tags is not None:
        groups["recovered"] = tags.cards
    cards = [card for group in groups.values() for card in group]
    made: Mapping[tuple[Path, int], Shown] = {}
    if content.bundle is not None and content.reads_images:
        wanted = dict.fromkeys((c.path, c.column) for c in cards if c.path is not None)
        made = show(content.bundle, wanted)  # always in this order: the same page, byte by byte
    done = {name: [_with_picture(card, made) for card in group] for name, group in groups.items()}
    if tags is not None:
        tags = replace(tags, cards=done.pop("recovered"))
    return tags, None if mistakes is None else replace(mistakes, groups=done)


def _with_picture(card: Card, made: Mapping[tuple[Path, int], Shown]) -> Card:
    return card if card.path is None else replace(card, shown=made.get((card.path, card.column)))


def _doubted(content: RunContent, recovery: Recovery | None) -> tuple[Card, ...]:
    if recovery is None or content.data is None:
        return ()
    split = _split(recovery)
    entries = recovery.suspects()
    pairs = zip(entries.rows.tolist(), entries.columns.tolist(), strict=True)
    chosen = _first_few(pairs, ERRORS, len(split.table.classes))
    return _cards(split, chosen, recovery.evidence.known, recovery.truth)


def _split(recovery: Recovery) -> Split:
    return Split(recovery.table, recovery.truth, recovery.paths)


def _picked(order: Floats, among: Mask, count: int) -> list[tuple[int, int]]:
    rows, columns = np.nonzero(among)
    first = np.argsort(order[rows, columns], kind="stable")[:_CANDIDATES]
    entries = zip(rows[first].tolist(), columns[first].tolist(), strict=True)
    return _first_few(entries, count, among.shape[1])


def _first_few(
    entries: Iterable[tuple[int, int]], count: int, classes: int
) -> list[tuple[int, int]]:
    """The first entries, each image once, and only a few per class."""
    most = max(PER_CLASS, ceil(count / classes))
    chosen: list[tuple[int, int]] = []
    images: set[int] = set()
    of_class: Counter[int] = Counter()
    for row, column in entries:
        if row in images or of_class[column] >= most:
            continue
        chosen.append((row, column))
        images.add(row)
        of_class[column] += 1
        if len(chosen) == count:
            break
    return chosen


def _cards(
    split: Split, entries: Sequence[tuple[int, int]], chance: Floats, truth: Labels | None
) -> tuple[Card, ...]:
    table = split.table
    stated = split.eval_labels if truth is None else table.values
    return tuple(
        Card(
            image=table.images[row],
            tag=table.classes[column],
            column=column,
            probability=float(chance[row, column]),
            known=tuple(table.classes[k] for k in np.flatnonzero(stated[row] == POSITIVE)),
            path=None if split.paths is None else split.paths[row],
            true=None if truth is None else _verdict(int(truth[row, column])),
        )
        for row, column in entries
    )


def _verdict(label: int) -> bool | None:
    return None if label == UNKNOWN else label == POSITIVE
