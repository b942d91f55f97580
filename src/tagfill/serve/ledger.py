"""The log of decisions, and the labels that follow from it.

Nothing in the log is ever changed: an undo is one more line. The labels are a fold over the log,
so several servers on one database agree once each has read to its end.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import sqlalchemy as sa

from tagfill.errors import TagfillError
from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Labels, LabelTable
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
    """Whether a line is as a server writes it: not damaged, and not of another program."""
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
    """A line of the log in a response: whether it was undone, and the number of its photo."""

    undone: bool = False
    photo: int | None = None


class Columns:
    """Names and numbers of tags after renames.

    Args:
        table: the labels as their owner wrote them.
        renames: old and new names, in the order they were made; existing ones are merged.
    """

    def __init__(self, table: LabelTable, renames: Sequence[tuple[str, str]]) -> None:
        self._new_name: dict[str, str] = {}
        for old, new in renames:
            self._new_name = {
                name: new if now == old else now for name, now in self._new_name.items()
            }
            self._new_name[old] = new
            self._new_name.pop(new, None)
        named = [self.name(name) for name in table.classes]
        self.names = list(dict.fromkeys(named))
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self.sources = np.array([self._numbers[name] for name in named], dtype=np.intp)
        self.base: Labels = np.full((len(table), len(self.names)), UNKNOWN, dtype=np.int8)
        for column, target in enumerate(self.sources):  # of the same name: any yes, else any no
            given, known = table.values[:, column], self.base[:, target]
            known[(given == NEGATIVE) & (known == UNKNOWN)] = NEGATIVE
            known[given == POSITIVE] = POSITIVE

    def name(self, tag: str) -> str:
        return self._new_name.get(tag, tag)

    def number(self, tag: str) -> int:
        """The column of a tag; a new tag gets a new column."""
        name = self.name(tag)
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]

    def find(self, tag: str) -> int | None:
        return self._numbers.get(self.name(tag))


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
        self._entries: dict[int, list[Entry]] = {}
        """All entries about a photo, by its row."""
        self._complete: dict[int, int] = {}
        """The line of the log that marked a photo as complete, by its row."""
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
        entries, written = self._batches.get(batch, []), self.columns.base.shape[1]
        columns = [self.columns.find(entry.tag) or 0 for entry in entries]
        if max(columns, default=0) >= written or any(entry.kind == RENAME for entry in entries):
            self._build()  # columns move, or a tag that was added may have no photo any more
            return
        for image in {entry.image for entry in entries}.intersection(self.library.table.row_of):
            self._settle(self.library.table.row_of[image])

    def _apply(self, entry: Entry) -> None:
        row = self.library.table.row_of.get(entry.image)
        if row is None or entry.kind in (RENAME, UNDO):
            return
        self._entries.setdefault(row, []).append(entry)
        if entry.kind != COMPLETE:
            self.columns.number(entry.tag)
            self._widen(entry.id)
        self._settle(row)

    def _live(self, row: int) -> list[Entry]:
        """Entries about a photo that were not undone."""
        return [entry for entry in self._entries.get(row, ()) if entry.batch not in self._undone]

    def _answers(self, row: int) -> dict[int, Entry]:
        """The latest decision about each tag of a photo, by column."""
        answers = (entry for entry in self._live(row) if entry.kind != COMPLETE)
        return {self.columns.number(entry.tag): entry for entry in answers}

    def _widen(self, since: int) -> None:
        more = len(self.columns.names) - self.values.shape[1]
        if more > 0:
            self._since = np.concatenate([self._since, np.full(more, since)])
            blank = np.full((len(self.values), more), UNKNOWN, dtype=np.int8)
            self.values = np.concatenate([self.values, blank], axis=1)
            self.decided = np.pad(self.decided, ((0, 0), (0, more)))

    def _settle(self, row: int) -> None:
        base = self.columns.base[row]
        values = np.full(self.values.shape[1], UNKNOWN, dtype=np.int8)
        values[: len(base)] = base
        decided = np.zeros_like(self.decided[row])
        for column, entry in self._answers(row).items():
            values[column], decided[column] = entry.value, entry.id
        line = max((entry.id for entry in self._live(row) if entry.kind == COMPLETE), default=None)
        self._complete.pop(row, None)
        if line is not None:
            self._complete[row] = line
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
        return row in self._complete

    @property
    def completed(self) -> list[int]:
        return list(self._complete)

    def answer(self, row: int, column: int) -> Entry | None:
        """The latest decision about one entry."""
        return self._answers(row).get(column)

    def current(self) -> Iterator[tuple[int, int, Entry]]:
        """All decisions that count: row, column, line of the log."""
        for row in self._entries:
            for column, entry in self._answers(row).items():
                yield row, column, entry

    def history(self, limit: int, who: str | None = None) -> list[Entry]:
        """The latest lines of the log, the newest first."""
        lines = (entry for entry in reversed(self._log) if who is None or entry.who == who)
        return list(islice(lines, limit))

    def is_undone(self, batch: str) -> bool:
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
