"""Decisions of a database, for commands without a server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tagfill.errors import TagfillError
from tagfill.labels import UNKNOWN, Dataset, LabelTable
from tagfill.recover.decisions import Decision
from tagfill.serve.database import Database, database_url
from tagfill.serve.ledger import Ledger
from tagfill.serve.library import Library


def stored_decisions(source: str, dataset: Dataset) -> tuple[Dataset, list[Decision]]:
    """What people decided about the photos of a label file.

    Args:
        source: file or address of the database.
        dataset: the labels as they were before.

    Returns:
        The labels over the tags there are now, and the decisions about them.
    """
    if "://" not in source and not Path(source).is_file():
        raise TagfillError("no such file", file=source)
    database = Database(database_url(source, Path(source)))
    try:
        library = Library(dataset.table, (), dataset.splits, dataset.source)
        ledger = Ledger(database, library)
    finally:
        database.close()
    columns, after = ledger.columns, ledger.table
    added = len(columns.names) - columns.base.shape[1]
    values = np.pad(columns.base, ((0, 0), (0, added)), constant_values=UNKNOWN)
    before = LabelTable(after.images, after.classes, values)
    asked = np.argwhere(
        (after.values != before.values) | ((ledger.decided > 0) & (after.values == UNKNOWN))
    )
    decisions = []
    for row, column in asked.tolist():
        entry = ledger.answer(row, column)
        stated = int(before.values[row, column])
        decisions.append(
            Decision(
                row=entry.id if entry is not None else 0,
                image=after.images[row],
                tag=after.classes[column],
                value=int(after.values[row, column]),
                doubts=None if stated == UNKNOWN else stated,
                probability=None if entry is None else entry.probability,
            )
        )
    same = before.classes == dataset.table.classes
    return (dataset if same else replace(dataset, table=before, truth=None)), decisions
