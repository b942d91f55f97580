"""Class by class: labels, metrics, and co-occurrence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagfill.arrays import Integers, Mask
from tagfill.evaluate import count, mean_average_precision
from tagfill.evaluate.metrics import without_nan
from tagfill.labels import POSITIVE, UNKNOWN
from tagfill.labels.stats import Statistics
from tagfill.report.content import HeldOut, RunContent

SHOWN = 1000
"""Rows of the table at most; metrics.json has all."""
MAP_CLASSES, PAIRS = 30, 15
SHARES = {"AP": "average_precision", "F1": "f1", "precision": "precision", "recall": "recall"}
Trio = tuple[int | None, int | None, int | None]


@dataclass(frozen=True)
class ClassRow:
    """One class; fractions, None where undefined.

    Args:
        positives, negatives, unknowns: of the training images, where the labels are still there.
        held_out: known positives of the images metrics are of.
    """

    name: str
    positives: int | None
    negatives: int | None
    unknowns: int | None
    held_out: int | None
    threshold: float | None
    average_precision: float | None
    f1: float | None
    precision: float | None
    recall: float | None


def class_rows(content: RunContent) -> list[ClassRow]:
    """The table of classes, those with most known positives first."""
    names, held = content.classes, content.evaluated
    measurements = _evaluated_classes(content, held)
    thresholds = content.described["thresholds"] or [None] * len(names)
    counts: list[Trio] = [(None, None, None)] * len(names)
    if content.data is not None:
        counted = Statistics.of(content.data.train.table)
        columns = (counted.class_positives, counted.class_negatives, counted.class_unknowns)
        counts = list(zip(*(column.tolist() for column in columns), strict=True))
    rows = []
    for name, trio, measured, threshold in zip(
        names, counts, measurements, thresholds, strict=True
    ):
        shares = [measured.get(key) for key in SHARES.values()]
        rows.append(ClassRow(name, *trio, measured.get("positives"), threshold, *shares))
    return sorted(rows, key=lambda row: -(row.positives or 0))


def shares(rows: Sequence[ClassRow]) -> dict[str, str]:
    """The metrics that at least one class has: column titles and names."""
    return {
        title: name
        for title, name in SHARES.items()
        if any(getattr(row, name) is not None for row in rows)
    }


def _evaluated_classes(content: RunContent, held: HeldOut | None) -> list[dict[str, Any]]:
    """Metrics of each class at the fitted thresholds; those of the run if images are gone.

    Without known negatives only recall can be measured, that of the written tags.
    """
    if held is None:
        noted = (content.metrics.get(content.evaluated_name or "") or {}).get("per_class")
        if noted is None or len(noted) != len(content.classes):
            return [{} for _ in content.classes]
        kept = ("positives", "average_precision")
        return [{key: noted_class[key] for key in kept} for noted_class in noted]
    counts, positives = count(held.decided, held.labels), (held.labels == POSITIVE).sum(axis=0)
    defined = np.where(positives > 0, 1.0, np.nan)
    columns = {"positives": positives, "recall": counts.recall * defined}
    if held.has_negatives:
        ranked = mean_average_precision(held.logits, held.labels)
        columns |= {
            "average_precision": ranked.average_precision,
            "precision": counts.precision,
            "f1": counts.f1 * defined,
        }
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [without_nan(dict(zip(columns, row, strict=True))) for row in rows]


def together(content: RunContent) -> dict[str, Any] | None:
    """Co-occurrence as labeled in training images and as predicted for held-out ones.

    ``share`` is [k, k]: of the images given the row's tag, the share given the column's too.
    """
    data, held = content.data, content.evaluated
    if data is None or len(content.classes) < 2:
        return None
    observed = Statistics.of(data.train.table).co_occurrence
    truth = None
    if held is not None and not (held.labels == UNKNOWN).any():
        truth = _both(held.labels == POSITIVE)
    if held is None:
        shown, split, images = observed, "train", len(data.train)
    else:
        shown, split, images = _both(held.decided), held.name, len(held.labels)
    most = np.argsort(-np.diag(shown), kind="stable")[:MAP_CLASSES]
    chosen = np.sort(most)
    block = shown[np.ix_(chosen, chosen)]
    return {
        "classes": [content.classes[column] for column in chosen],
        "share": (block / np.maximum(np.diag(block)[:, None], 1)).tolist(),
        "split": split,
        "images": images,
        "pairs": _pairs(content.classes, shown, observed, None if held is None else shown, truth),
        "observed_any": bool(observed.sum() > np.trace(observed)),
        "of_all": len(content.classes),
    }


def _both(given: Mask) -> Integers:
    numbers = given.astype(np.float32)
    return (numbers.T @ numbers).round().astype(np.int64)


def _pairs(
    names: tuple[str, ...],
    ranked: Integers,
    observed: Integers,
    predicted: Integers | None,
    truth: Integers | None,
) -> list[dict[str, Any]]:
    """Pairs of classes, and how many images have both."""
    first, second = np.triu_indices(len(names), k=1)
    order = np.argsort(-ranked[first, second], kind="stable")[:PAIRS]
    counts = {"observed": observed, "predicted": predicted, "true": truth}
    return [
        {
            "first": names[a],
            "second": names[b],
            **{key: None if both is None else int(both[a, b]) for key, both in counts.items()},
        }
        for a, b in zip(first[order].tolist(), second[order].tolist(), strict=True)
        if ranked[a, b]
    ]
