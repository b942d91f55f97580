"""Suggestions as files for people and annotation tools: CSV, JSONL, parquet, Label Studio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tagfill.console import json_text
from tagfill.errors import TagfillError
from tagfill.files import atomic_path, write_csv, write_text
from tagfill.labels import POSITIVE, UNKNOWN, Dataset, LabelTable, Suggestions
from tagfill.labels.io import save_labels
from tagfill.recover.choose import Entries

Record = dict[str, Any]

PLACE = "row"
"""Column that says which row this is, and of how many; the last, so that no line ends early."""
SUGGESTION = ("image", "tag", "probability", "evidence", "gain", "decision", PLACE)
SUSPECT = ("image", "tag", "label", "probability", "evidence", "decision", PLACE)
LABEL_STUDIO = ".json"
SUFFIXES = (".csv", ".jsonl", ".parquet", LABEL_STUDIO)


def check_target(path: Path, *, force: bool, suffixes: Sequence[str] = SUFFIXES) -> None:
    """Refuse a file of no known kind, or one that is there already."""
    if path.suffix.lower() not in suffixes:
        raise TagfillError(
            f"the suffix {path.suffix!r} names no known format",
            file=path,
            remedy=f"use one of {', '.join(suffixes)}",
        )
    if path.exists() and not force:
        raise TagfillError("exists already", file=path, remedy="choose another, or add --force")


def write_suggestions(
    entries: Entries,
    table: LabelTable,
    evidence: str,
    path: Path,
    decided: Mapping[tuple[str, str], str] | None = None,
) -> None:
    """Write suggested tags in review order, with a column for decisions.

    Args:
        entries: the suggestions.
        table: the labels they are about.
        evidence: where their probabilities come from.
        path: the file.
        decided: decisions that are known already, by image and tag; all are in the file again.
    """
    if path.suffix.lower() == LABEL_STUDIO:
        save_labels(_tasks(entries, table), path, format="label_studio")
        return
    rows = suggestion_rows(entries, table, evidence)
    left = dict(decided or {})
    for row in rows:
        row["decision"] = left.pop((row["image"], row["tag"]), "")
    blank = dict.fromkeys(SUGGESTION)
    rows += [
        {**blank, "image": image, "tag": tag, "decision": word}
        for (image, tag), word in left.items()
    ]
    _write(rows, SUGGESTION, path)


def suggestion_rows(entries: Entries, table: LabelTable, evidence: str) -> list[Record]:
    """Suggested tags in review order, one a row."""
    return [
        {
            "image": table.images[row],
            "tag": table.classes[column],
            "probability": round(probability, 4),
            "evidence": evidence,
            "gain": round(gain, 4),
            "decision": "",
        }
        for row, column, probability, gain in _each(entries)
    ]


def write_suspects(entries: Entries, table: LabelTable, path: Path) -> None:
    """Write positives that look wrong; ``label`` is what is stated now."""
    rows = [
        {
            "image": table.images[row],
            "tag": table.classes[column],
            "label": int(table.values[row, column]),
            "probability": round(probability, 4),
            "evidence": "out_of_fold",
            "decision": "",
        }
        for row, column, probability, _ in _each(entries)
    ]
    _write(rows, SUSPECT, path)


def _each(entries: Entries) -> list[tuple[int, int, float, float]]:
    columns = (entries.rows, entries.columns, entries.probability, entries.gain)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _write(rows: Sequence[Record], columns: Sequence[str], path: Path) -> None:
    for number, row in enumerate(rows, 1):
        row[PLACE] = f"{number} of {len(rows)}"
    writers = {".csv": _write_csv, ".jsonl": _write_jsonl, ".parquet": _write_parquet}
    writers[path.suffix.lower()](rows, columns, path)


def _write_csv(rows: Sequence[Record], columns: Sequence[str], path: Path) -> None:
    write_csv(path, columns, ([row[name] for name in columns] for row in rows))


def _write_jsonl(rows: Sequence[Record], columns: Sequence[str], path: Path) -> None:
    write_text(path, "".join(json_text(row) + "\n" for row in rows))


def _write_parquet(rows: Sequence[Record], columns: Sequence[str], path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    numbers = {"probability": pa.float64(), "gain": pa.float64(), "label": pa.int8()}
    schema = pa.schema([(name, numbers.get(name, pa.string())) for name in columns])
    with atomic_path(path) as draft:
        parquet.write_table(pa.Table.from_pylist(list(rows), schema=schema), draft)


def _tasks(entries: Entries, table: LabelTable) -> Dataset:
    """The images with suggestions as tasks to do: known and suggested tags are ticked already.

    A task counts as done once it is submitted, so there are no annotations yet.
    """
    images = list(dict.fromkeys(entries.rows.tolist()))
    place = {row: number for number, row in enumerate(images)}
    split = table.take(images)
    known_rows, known_columns = np.nonzero(split.values == POSITIVE)
    suggested = np.array([place[row] for row in entries.rows.tolist()], dtype=np.intp)
    return Dataset(
        table=split.with_values(np.full(split.values.shape, UNKNOWN)),
        source=Path(),
        format="label_studio",
        suggestions=Suggestions(
            image=np.concatenate([known_rows, suggested]),
            label=np.concatenate([known_columns, entries.columns]),
            score=np.concatenate([np.ones(len(known_rows)), entries.probability]),
        ),
    )
