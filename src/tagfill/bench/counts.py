"""Tables that only count labels: k from a few images, and how many labels a regime needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagfill.bench.data import open_source
from tagfill.bench.recipe import Column, Recipe, Size
from tagfill.bench.table import NOT_RUN, Report, Sheet
from tagfill.labels import NEGATIVE, POSITIVE, Labels

DRAWS = 100_000
IMAGES = (5, 10, 25)
SHARES = (0.1, 0.5, 1.0)
_AT_ONCE = 5_000


def k_interval(
    positives: npt.NDArray[np.integer], images: int, draws: int = DRAWS
) -> tuple[float, float]:
    """5th and 95th percentile of the mean number of positives [N] of a few images.

    Cole et al. 2021, Eq. A1: every draw takes the images without replacement.
    """
    generator = np.random.default_rng(0)
    size = min(images, len(positives))
    means = []
    for start in range(0, draws, _AT_ONCE):
        number = min(_AT_ONCE, draws - start)
        rows = _distinct(generator, number, size, len(positives))
        means.append(positives[rows].mean(axis=1))
    low, high = np.percentile(np.concatenate(means), [5, 95])
    return float(low), float(high)


def _distinct(
    generator: np.random.Generator, draws: int, size: int, total: int
) -> npt.NDArray[np.intp]:
    """[draws, size] row numbers, all different within a draw."""
    if size * size > total:
        keys = generator.random((draws, total), dtype=np.float32)
        return np.argpartition(keys, size - 1, axis=1)[:, :size]
    rows = generator.integers(total, size=(draws, size))
    while True:  # repeats are rare: draw those again
        ordered = np.sort(rows, axis=1)
        repeats = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if not repeats.any():
            return rows
        rows[repeats] = generator.integers(total, size=(int(repeats.sum()), size))


def few_images(recipe: Recipe, size: Size, data: Path, out: Path) -> Report:
    """How well k is known from 5, 10 and 25 images."""
    records: list[dict[str, Any]] = []
    for name, column in recipe.columns.items():
        labels = _training_labels(name, column, size, data, out)
        positives = None if labels is None else np.asarray((labels == POSITIVE).sum(axis=1))
        for images in IMAGES:
            low, high = (None, None) if positives is None else k_interval(positives, images)
            quoted = {
                f"paper_{end}": recipe.rows[f"{end}_{images}"].paper.get(name)
                for end in ("low", "high")
            }
            k = None if positives is None else float(positives.mean())
            about = {"data": column.title, "images": images, "k": k}
            records.append({**about, "low": low, "high": high, **quoted})
    rows = [
        (
            str(record["data"]),
            "" if record["k"] is None else f"{record['k']:.2f}",
            str(record["images"]),
            _range(record["low"], record["high"]) or NOT_RUN,
            _range(record["paper_low"], record["paper_high"]),
        )
        for record in records
    ]
    headers = ("", "k of all images", "images", "5th to 95th percentile", "paper")
    return Report((Sheet(recipe.title, headers, tuple(rows)),), tuple(records))


def label_counts(recipe: Recipe, size: Size, data: Path, out: Path) -> Report:
    """Labels that positives-only methods and others use at several known proportions."""
    records = list(_label_records(recipe, size, data, out))
    rows = [tuple(_count(key, value) for key, value in record.items()) for record in records]
    headers = tuple(key.replace("_", " ") for key in records[0]) if records else ()
    return Report((Sheet(recipe.title, headers, tuple(rows)),), tuple(records))


def _label_records(recipe: Recipe, size: Size, data: Path, out: Path) -> Iterator[dict[str, Any]]:
    for name, column in recipe.columns.items():
        labels = _training_labels(name, column, size, data, out, with_val=True)
        positive = None if labels is None else int((labels == POSITIVE).sum())
        negative = None if labels is None else int((labels == NEGATIVE).sum())
        for share in SHARES:
            row = recipe.rows.get(f"known_{share:.0%}".rstrip("%"))
            yield {
                "data": column.title,
                "known": f"{share:.0%}",
                "positives": None if positive is None else round(share * positive),
                "negatives": None if negative is None else round(share * negative),
                "saved_by_positives_only": None
                if positive is None or negative is None
                else f"{negative / (positive + negative):.1%}",
                "paper_positives": row and row.paper.get(name),
                "paper_negatives": row and row.paper_more.get("negatives", {}).get(name),
            }


def _training_labels(
    name: str, column: Column, size: Size, data: Path, out: Path, *, with_val: bool = False
) -> Labels | None:
    if size.columns is not None and name not in size.columns:
        return None
    dataset = open_source(size.data[column.data], data, out).dataset
    splits = ("train", "val") if with_val else ("train",)
    return np.concatenate([dataset.split(split).values for split in splits])


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.1f} to {high:.1f}"


def _count(key: str, value: Any) -> str:
    if value is None:
        return "" if key.startswith("paper") else NOT_RUN
    return f"{value:,.0f}" if isinstance(value, int | float) else str(value)
