"""Entries to show: recovered tags, errors, and labels in doubt, each with its picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from tagfill.arrays import Floats, Mask
from tagfill.evaluate.arrays import Scores
from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Labels
from tagfill.recover.choose import DEFAULT_PRECISION, Amount
from tagfill.recover.evaluate import cuts
from tagfill.recover.recovery import Recovery
from tagfill.report.content import RunContent
from tagfill.report.pictures import Shown, show
from tagfill.train.data import Split

RECOVERED, ERRORS = 12, 6
PER_CLASS = 2
_CANDIDATES = 5000
"""Entries to choose from, the most extreme first."""


@dataclass
class Card:
    """One tag of one image.

    Args:
        probability: that the tag is present.
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


def recovered(
    content: RunContent, recovery: Recovery, precision: float = DEFAULT_PRECISION
) -> dict[str, Any]:
    """Metrics of recovery, and cards of the most likely missing tags.

    ``images`` of all images (``of_images``) were searched; ``missing`` is None without full labels.
    """
    assert content.data is not None
    split, truth = _split(recovery), recovery.truth
    probability, unknown = recovery.probability, recovery.unknown
    likeliest = _picked(-probability, unknown, RECOVERED)
    suggested = recovery.suggest(Amount(precision))
    return {
        "images": len(recovery.table),
        "of_images": sum(map(len, content.data.splits.values())),
        "unknown": int(unknown.sum()),
        "expected_missing": recovery.expected_missing,
        "share_written": recovery.share_written,
        "missing": None if truth is None else int((truth[unknown] == POSITIVE).sum()),
        "summary": recovery.summary(suggested),
        "suggestions": len(suggested),
        "precision": precision,
        "cuts": list(cuts(probability, unknown, truth)),
        "how": recovery.evidence.how,
        "cards": _cards(split, likeliest, probability, truth),
    }


def errors(content: RunContent, recovery: Recovery | None) -> dict[str, Any] | None:
    """Where model and labels disagree, in groups.

    Of the held-out images: ``unlabeled``, predicted tags without a label; ``imagined``, predicted
    tags that are known to be absent; ``missed``, present tags that are not predicted. ``doubted``
    are labeled tags of training images to which out-of-fold heads give a low probability.
    """
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
    return {
        "split": held.name,
        "groups": groups | {"doubted": _doubted(content, recovery)},
        "all_known": not (labels == UNKNOWN).any(),
        "no_negatives": not held.has_negatives,
    }


def illustrate(content: RunContent, cards: Sequence[Card]) -> None:
    """Give the cards thumbnails and heat maps, in this order: the same page, byte by byte."""
    if content.bundle is None or not content.reads_images:
        return
    wanted = dict.fromkeys((card.path, card.column) for card in cards if card.path is not None)
    made = show(content.bundle, wanted)
    for card in cards:
        if card.path is not None:
            card.shown = made.get((card.path, card.column))


def _doubted(content: RunContent, recovery: Recovery | None) -> list[Card]:
    if recovery is None or content.data is None:
        return []
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
    split: Split, entries: Sequence[tuple[int, int]], chance: Scores, truth: Labels | None
) -> list[Card]:
    table = split.table
    stated = split.eval_labels if truth is None else table.values
    return [
        Card(
            image=table.images[row],
            tag=table.classes[column],
            column=column,
            probability=float(chance[row, column]),
            known=tuple(table.classes[k] for k in np.flatnonzero(stated[row] == POSITIVE)),
            path=None if split.paths is None else split.paths[row],
            true=None
            if truth is None or truth[row, column] == UNKNOWN
            else bool(truth[row, column] == POSITIVE),
        )
        for row, column in entries
    ]
