"""Decisions of a database, for commands without a server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tagfill.errors import Problems, TagfillError, counted
from tagfill.labels import UNKNOWN, Dataset, LabelTable
from tagfill.recover.decisions import Decision
from tagfill.serve.database import Database, database_url
from tagfill.serve.ledger import Ledger
from tagfill.serve.library import Library


def stored_decisions(
    source: str, dataset: Dataset, problems: Problems
) -> tuple[Dataset, list[Decision]]:
    """The labels over the tags there are now, and what people decided about them.

    Args:
        source: file or address of the database.
        dataset: the labels as they were before.
        problems: collects decisions about other photos.
    """
    database = Database(database_url(source, Path(source)), create=False)
    try:
        library = Library(dataset.table, (), dataset.splits, dataset.source)
        with database.named_errors():
            ledger = Ledger(database, library)
    finally:
        database.close()
    _report_other_photos(ledger, source, problems)
    columns, after = ledger.columns, ledger.table
    added = len(columns.names) - columns.base.shape[1]
    values = np.pad(columns.base, ((0, 0), (0, added)), constant_values=UNKNOWN)
    before = LabelTable(after.images, after.classes, values)
    asked = np.argwhere(
        (after.values != before.values) | ((ledger.decided > 0) & (after.values == UNKNOWN))
    )
    decisions = []
    for row, column in asked.tolist():
        entry, stated = ledger.answer(row, column), int(before.values[row, column])
        line, chance = (0, None) if entry is None else (entry.id, entry.probability)
        image, tag, value = after.images[row], after.classes[column], after.values[row, column]
        doubts = None if stated == UNKNOWN else stated
        decisions.append(Decision(line, image, tag, int(value), doubts, chance))
    same = before.classes == dataset.table.classes
    return (dataset if same else replace(dataset, table=before, truth=None)), decisions


def _report_other_photos(ledger: Ledger, source: str, problems: Problems) -> None:
    """Warn of decisions about photos that the labels do not have; an error if all are."""
    decided = {entry.image for entry in ledger.history(len(ledger)) if entry.image}
    others = sorted(decided.difference(ledger.library.table.row_of))
    if not others:
        return
    message = f"decisions about {counted(len(others), 'photo')} that the labels do not have,"
    message += f" such as {others[0]!r}"
    if len(others) == len(decided):
        raise TagfillError(message, file=source, remedy="name the labels the run was trained on")
    problems.warn(message, file=source)
