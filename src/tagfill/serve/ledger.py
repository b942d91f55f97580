"""The log of decisions, and the labels that follow from it.

Nothing in the log is ever changed: an undo is one more line. The labels are a fold over the log,
so several servers on one database agree once each has read to its end.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sqlalchemy as sa

from tagfill.errors import TagfillError
from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Labels, LabelTable
from tagfill.serve.columns import Columns
from tagfill.serve.database import Database, decisions, leases
from tagfill.serve.library import Library

KINDS = ("answer", "complete", "accept", "bulk", "rename", "undo")
ANSWER, COMPLETE, ACCEPT, BULK, RENAME, UNDO = KINDS


@dataclass(frozen=True)
class Entry:
    """One line of the log.

    Args:
        image, tag: the entry of the label table it is about.
        value: 1, 0, or -1 if the person was unsure.
        kind: answer, complete, accept, bulk, rename or undo.
        view: the page it was made on.
        who: the person.
        model: name of the model whose probability was shown.
        probability: what that model said.
        target: of a rename the new name, of an undo the batch taken back.
        batch: what one action of a person made; taken back as a whole.
        at: seconds since 1970.
        id: its number in the log.
    """

    image: str
    tag: str
    value: int
    kind: str
    view: str
    who: str
    model: str
    probability: float | None = None
    target: str | None = None
    batch: str = ""
    at: float = 0.0
    id: int = 0


def _is_sound(entry: Entry) -> bool:
    """Whether a line holds what a server writes, and not what damage or another program left."""
    texts = (entry.image, entry.tag, entry.who, entry.batch, entry.model)
    probability, target = entry.probability, entry.target
    return (
        entry.kind in KINDS
        and entry.value in (UNKNOWN, NEGATIVE, POSITIVE)
        and entry.id <= np.iinfo(np.int32).max
        and all(isinstance(text, str) for text in texts)
        and bool(entry.tag or entry.kind in (COMPLETE, UNDO))
        and (isinstance(target, str) or entry.kind not in (RENAME, UNDO))
        and (probability is None or (isinstance(probability, float) and 0 <= probability <= 1))
    )


@dataclass(frozen=True)
class Line(Entry):
    """An entry as it is told: whether it was undone, and the number of its photo."""

    undone: bool = False
    photo: int | None = None


@dataclass
class _Photo:
    """Live decisions about one photo: answers by column, and batches that marked it complete."""

    answers: dict[int, list[Entry]] = field(default_factory=dict)
    complete: list[Entry] = field(default_factory=list)


class Ledger:
    """Reads and writes the log, and keeps the labels that follow from it."""

    def __init__(self, database: Database, library: Library) -> None:
        self.database, self.library = database, library
        self.lock = threading.RLock()
        self._last = 0
        self._batches: dict[str, list[Entry]] = {}
        self._undone: set[str] = set()
        self._by_person: dict[str, list[str]] = {}
        self._log: list[Entry] = []
        self.first_lines: dict[str, int] = {}
        """The first line of the log made under each model."""
        self._build()
        self.refresh()

    def _build(self) -> None:
        """Compute labels from the whole log, since renames move columns."""
        live = [entry for entry in self._log if entry.batch not in self._undone]
        renames = [(entry.tag, str(entry.target)) for entry in live if entry.kind == RENAME]
        self.columns = Columns(self.library.table, renames)
        self.values: Labels = self.columns.base.copy()
        self.decided = np.zeros(self.values.shape, dtype=np.int32)
        """[N, K] the line of the log that settled an entry; 0 if nobody has."""
        self._since = np.zeros(self.values.shape[1], dtype=np.int64)
        self._photos: dict[int, _Photo] = {}
        for entry in live:
            self._apply(entry)

    # reading

    def refresh(self) -> None:
        """Read what other servers have written."""
        with self.lock:
            query = sa.select(decisions).where(decisions.c.id > self._last).order_by("id")
            with self.database.read() as connection:
                rows = connection.execute(query).mappings().all()
            for row in rows:
                self._take(dict(row))

    def _take(self, row: Mapping[str, Any]) -> None:
        entry = Entry(**{name: row[name] for name in Entry.__dataclass_fields__})
        if not _is_sound(entry):
            raise TagfillError(
                f"line {entry.id} of the decisions is damaged",
                file=self.database.name,
                remedy="restore a copy of the database",
            )
        self._last = entry.id
        self._log.append(entry)
        self.first_lines.setdefault(entry.model, entry.id)
        if entry.kind == UNDO:
            self._take_back(str(entry.target))
            return
        first = entry.batch not in self._batches
        self._batches.setdefault(entry.batch, []).append(entry)
        if first:
            self._by_person.setdefault(entry.who, []).append(entry.batch)
        if entry.kind == RENAME:
            self._build()
        else:
            self._apply(entry)

    def _take_back(self, batch: str) -> None:
        if batch in self._undone:
            return
        self._undone.add(batch)
        entries = self._batches.get(batch, [])
        if any(entry.kind == RENAME for entry in entries):
            self._build()
            return
        for entry in entries:
            row = self.library.table.row_of.get(entry.image)
            if row is not None:
                self._forget(row, batch)
        added = set(self.columns.names[self.columns.base.shape[1] :])
        used = {column for photo in self._photos.values() for column in photo.answers}
        if any(self.columns.find(tag) not in used for tag in added):
            self._build()  # nobody used the tag after all

    def _forget(self, row: int, batch: str) -> None:
        photo = self._photos.get(row)
        if photo is None:
            return
        photo.complete = [entry for entry in photo.complete if entry.batch != batch]
        for column, entries in list(photo.answers.items()):
            kept = [entry for entry in entries if entry.batch != batch]
            if kept:
                photo.answers[column] = kept
            else:
                del photo.answers[column]
        self._settle(row)

    def _apply(self, entry: Entry) -> None:
        row = self.library.table.row_of.get(entry.image)
        if row is None or entry.kind in (RENAME, UNDO):
            return
        photo = self._photos.setdefault(row, _Photo())
        if entry.kind == COMPLETE:
            photo.complete.append(entry)
        else:
            column = self.columns.number(entry.tag)
            self._widen(entry.id)
            photo.answers.setdefault(column, []).append(entry)
        self._settle(row)

    def _widen(self, since: int) -> None:
        more = len(self.columns.names) - self.values.shape[1]
        if more > 0:
            self._since = np.concatenate([self._since, np.full(more, since)])
            blank = np.full((len(self.values), more), UNKNOWN, dtype=np.int8)
            self.values = np.concatenate([self.values, blank], axis=1)
            self.decided = np.pad(self.decided, ((0, 0), (0, more)))

    def _settle(self, row: int) -> None:
        photo = self._photos[row]
        base = self.columns.base[row]
        values = np.full(self.values.shape[1], UNKNOWN, dtype=np.int8)
        values[: len(base)] = base
        decided = np.zeros_like(self.decided[row])
        for column, entries in photo.answers.items():
            values[column], decided[column] = entries[-1].value, entries[-1].id
        if photo.complete:
            line = photo.complete[-1].id
            thought_of = self._since <= line
            values[(values == UNKNOWN) & thought_of] = NEGATIVE
            decided[(decided == 0) & thought_of] = line
        self.values[row], self.decided[row] = values, decided

    # questions

    @property
    def table(self) -> LabelTable:
        """The labels as they are now."""
        start, before = self.library.table, self.columns.base
        reviewed = np.ones(self.values.shape, dtype=bool)
        reviewed[:, : before.shape[1]] = self.values[:, : before.shape[1]] != before
        if start.reviewed is not None:
            for column, target in enumerate(self.columns.sources):
                reviewed[:, target] |= start.reviewed[:, column]
        reviewed &= self.values != UNKNOWN
        names = tuple(self.columns.names)
        return LabelTable(start.images, names, self.values, reviewed=reviewed)

    def is_complete(self, row: int) -> bool:
        """Whether a person said that all tags of the photo are known."""
        photo = self._photos.get(row)
        return bool(photo and photo.complete)

    @property
    def completed(self) -> list[int]:
        """Photos marked as complete."""
        return [row for row, photo in self._photos.items() if photo.complete]

    def answer(self, row: int, column: int) -> Entry | None:
        """The latest decision about one entry."""
        photo = self._photos.get(row)
        return photo.answers[column][-1] if photo and column in photo.answers else None

    def current(self) -> Iterator[tuple[int, int, Entry]]:
        """All decisions that count: row, column, line of the log."""
        for row, photo in self._photos.items():
            for column, entries in photo.answers.items():
                yield row, column, entries[-1]

    def history(self, limit: int, who: str | None = None) -> list[Entry]:
        """The latest lines of the log, the newest first."""
        lines = (entry for entry in reversed(self._log) if who is None or entry.who == who)
        return [entry for _, entry in zip(range(limit), lines, strict=False)]

    def is_undone(self, batch: str) -> bool:
        """Whether an action was undone."""
        return batch in self._undone

    def __len__(self) -> int:
        return len(self._log)

    # writing

    def write(self, entries: Sequence[Entry], *, release: Iterable[tuple[str, str]] = ()) -> str:
        """Append one action of a person, and end leases (image, tag); returns the batch's name.

        On return it is on disk.
        """
        batch, now = secrets.token_hex(8), time.time()
        rows = [{**vars(entry), "batch": batch, "at": now} for entry in entries]
        for row in rows:
            del row["id"]  # the database numbers them
        with self.lock:
            with self.database.write() as connection:
                if rows:
                    connection.execute(decisions.insert(), rows)
                for image, tag in release:
                    connection.execute(
                        leases.delete().where(leases.c.image == image, leases.c.tag == tag)
                    )
            self.refresh()
        return batch

    def undo(self, who: str, batch: str | None = None) -> list[Entry]:
        """Undo an action of a person, by default the last; returns its lines, none if undone."""
        with self.lock:
            self.refresh()
            live = (name for name in self._by_person.get(who, ()) if name not in self._undone)
            mine = [name for name in live if batch in (None, name)]
            if not mine:
                return []
            batch = mine[-1]
            line = Entry("", "", UNKNOWN, UNDO, "", who, "", target=batch)
            self.write([line])
            return self._batches[batch]
