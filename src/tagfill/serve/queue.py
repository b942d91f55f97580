"""What to review next: the order of photos and tags, and who reviews what."""

from __future__ import annotations

import time
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from tagfill.evaluate.arrays import Floats
from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Rows
from tagfill.labels.split import stratified_split
from tagfill.recover.choose import expected_gain
from tagfill.serve.database import leases
from tagfill.serve.ledger import ANSWER, Ledger
from tagfill.serve.model import ServedModel
from tagfill.serve.stopping import Rest, rest_of

LEASE_SECONDS = 300.0
LIKELY = 0.5
"""Suggestions of a tag are the entries at least this likely."""
POSSIBLE = 0.1
"""Less likely entries are not shown."""
SHOWN = 8
"""Suggestions on the card of a photo."""
GUIDED = 50
"""Photos of the guided start."""
WHOLE_PHOTO = ""
"""The tag of a lease on all of a photo."""


@dataclass(frozen=True)
class TagStatus:
    """Progress of the review of one tag.

    Args:
        suggested: likely entries, answered or not.
        open: those not answered.
        yes, no: answers of people, and entries settled by them.
        rest: what the answers say of the open ones.
        acceptable: whether the rest may be accepted unseen.
    """

    tag: str
    suggested: int
    open: int
    yes: int
    no: int
    written: int
    rest: Rest
    acceptable: bool


class Queue:
    """The order of review under one model.

    Args:
        ledger: labels and decisions.
        model: probabilities.
    """

    def __init__(self, ledger: Ledger, model: ServedModel) -> None:
        self.ledger, self.model = ledger, model
        self._names: tuple[str, ...] = ()
        self.update()

    def update(self) -> None:
        """Update to the current tags."""
        names = tuple(self.ledger.columns.names)
        if names == self._names:
            return
        self._names = names
        self.probability = self.model.posterior.over(
            self.ledger.columns, self.model.posterior.unwritten
        )
        base = self.ledger.columns.base
        unknown = np.ones(self.probability.shape, dtype=bool)
        unknown[:, : base.shape[1]] = base == UNKNOWN
        self._askable = unknown & (np.nan_to_num(self.probability) >= POSSIBLE)
        chance = np.nan_to_num(self.probability)
        gain = np.where(self._askable, expected_gain(chance, unknown), 0.0)
        best = -np.sort(-gain, axis=1)[:, :SHOWN].sum(axis=1)
        self._photos = np.argsort(-best, kind="stable")
        self._order: dict[int, Rows] = {}

    def open_entries(self) -> npt.NDArray[np.bool_]:
        """[N, K] entries that are still open."""
        ledger = self.ledger
        still: npt.NDArray[np.bool_] = self._askable & (ledger.values == UNKNOWN) & ~ledger.asked
        return still

    def chance(self, row: int, column: int) -> float | None:
        """The probability of an entry; None if the model does not know the tag."""
        value = float(self.probability[row, column])
        return None if np.isnan(value) else round(value, 4)

    # by tag

    def tag_order(self, column: int) -> Rows:
        """Photos that may have a tag: likely ones in random order, then the others by chance.

        Random order makes the reviewed ones a sample of all likely ones, so that they represent the
        rest.
        """
        if column not in self._order:
            chance = np.nan_to_num(self.probability[:, column])
            rows = np.flatnonzero(self._askable[:, column])
            likely = rows[chance[rows] >= LIKELY]
            seed = zlib.crc32(f"{self.model.name}\0{self._names[column]}".encode())
            np.random.default_rng(seed).shuffle(likely)
            others = rows[chance[rows] < LIKELY]
            others = others[np.argsort(-chance[others], kind="stable")]
            self._order[column] = np.concatenate([likely, others])
        return self._order[column]

    def status(self, column: int) -> TagStatus:
        """Progress of the review of a tag."""
        ledger = self.ledger
        likely = self._askable[:, column] & (np.nan_to_num(self.probability[:, column]) >= LIKELY)
        answers = [
            (entry.value, entry.kind == ANSWER and entry.view == "tag" and likely[row])
            for row, entry in ledger.answers(column)
            if entry.model == self.model.name
        ]
        sampled = [value for value, counts in answers if counts]
        right = sampled.count(POSITIVE)
        rest = rest_of(int(likely.sum()), right, len(sampled) - right)
        still = likely & (ledger.values[:, column] == UNKNOWN) & ~ledger.asked[:, column]
        decided = [entry.value for _, entry in ledger.answers(column)]
        return TagStatus(
            tag=self._names[column],
            suggested=int(likely.sum()),
            open=int(still.sum()),
            yes=decided.count(POSITIVE),
            no=decided.count(NEGATIVE),
            written=int((ledger.values[:, column] == POSITIVE).sum()),
            rest=rest,
            acceptable=rest.acceptable(len(sampled)) and bool(still.any()),
        )

    def remaining(self, column: int) -> Rows:
        """Unreviewed likely photos of a tag."""
        order = self.tag_order(column)
        likely = np.nan_to_num(self.probability[order, column]) >= LIKELY
        rows: Rows = order[self.open_entries()[order, column] & likely]
        return rows

    def tag_page(self, column: int, who: str, count: int, exclude: Collection[int] = ()) -> Rows:
        """The next photos of a tag, leased to one person, most likely first."""
        order = self.tag_order(column)
        rows = order[self.open_entries()[order, column]].tolist()
        tag = self._names[column]
        cards = [(row, tag) for row in rows if row not in exclude]
        taken = self._lease(cards, who, count)
        chosen = np.array([row for row, _ in taken], dtype=np.intp)
        page: Rows = chosen[np.argsort(-self.probability[chosen, column], kind="stable")]
        return page

    # by photo

    def photos(
        self, who: str, count: int, exclude: Collection[int] = (), *, guided: bool = False
    ) -> list[int]:
        """The next photos, the most useful first, leased to one person."""
        if guided:
            wanted: Iterable[int] = (
                row for row in self.guided.tolist() if not self.is_complete(row)
            )
        else:
            with_open = np.flatnonzero(self.open_entries().any(axis=1))
            wanted = self._photos[np.isin(self._photos, with_open)].tolist()
        cards = [(row, WHOLE_PHOTO) for row in wanted if row not in exclude]
        return [row for row, _ in self._lease(cards, who, count)]

    @cached_property
    def guided(self) -> Rows:
        """Photos to label in full: a random sample, stratified by the tags written.

        Held-out photos are taken where there are enough, so that the metrics of any later model
        can be measured on them.
        """
        library = self.ledger.library
        pool = library.held_out if len(library.held_out) >= GUIDED else np.arange(len(library))
        if len(pool) <= GUIDED:
            return pool
        share = GUIDED / len(pool)
        parts = stratified_split(library.table.take(pool), {"yes": share, "no": 1 - share}, seed=0)
        draw = np.random.default_rng(0)
        chosen, rest = draw.permutation(parts["yes"]), draw.permutation(parts["no"])
        sample: Rows = np.sort(pool[np.concatenate([chosen, rest])[:GUIDED]])
        return sample

    def is_complete(self, row: int) -> bool:
        """Whether all tags of a photo are known, from the label file or from a person."""
        return self.ledger.is_complete(row) or bool(self.ledger.library.fully_labeled[row])

    def suggestions(self, row: int) -> list[int]:
        """Tags to ask about on a photo's card, most likely first."""
        columns = np.flatnonzero(self.open_entries()[row])
        order = np.argsort(-self.probability[row, columns], kind="stable")[:SHOWN]
        return [int(column) for column in columns[order]]

    # leases

    def _lease(
        self, cards: Sequence[tuple[int, str]], who: str, count: int
    ) -> list[tuple[int, str]]:
        """The first cards that nobody else is reviewing, leased to this person for a while."""
        images, now = self.ledger.library.table.images, time.time()
        with self.ledger.lock, self.ledger.database.write() as connection:
            far = now + 2 * LEASE_SECONDS  # by a clock that has been put back since
            connection.execute(
                leases.delete().where(sa.or_(leases.c.expires < now, leases.c.expires > far))
            )
            others = connection.execute(sa.select(leases).where(leases.c.who != who)).all()
            photos = {lease.image for lease in others}
            whole = {lease.image for lease in others if lease.tag == WHOLE_PHOTO}
            entries = {(lease.image, lease.tag) for lease in others}
            taken: list[tuple[int, str]] = []
            for row, tag in cards:
                image = images[row]
                blocked = image in (photos if tag == WHOLE_PHOTO else whole)
                if not blocked and (image, tag) not in entries:
                    taken.append((row, tag))
                if len(taken) == count:
                    break
            for row, tag in taken:
                mine = leases.delete().where(
                    leases.c.image == images[row], leases.c.tag == tag, leases.c.who == who
                )
                connection.execute(mine)
            if taken:
                fresh: list[dict[str, Any]] = [
                    {"image": images[row], "tag": tag, "who": who, "expires": now + LEASE_SECONDS}
                    for row, tag in taken
                ]
                connection.execute(leases.insert(), fresh)
        return taken

    def release(self, who: str, rows: Collection[int] | None = None, tag: str = WHOLE_PHOTO) -> int:
        """End leases of a person: all, or those of some photos; returns how many."""
        ended = leases.delete().where(leases.c.who == who)
        if rows is not None:
            images = [self.ledger.library.table.images[row] for row in rows]
            ended = ended.where(leases.c.image.in_(images), leases.c.tag == tag)
        with self.ledger.lock, self.ledger.database.write() as connection:
            return int(connection.execute(ended).rowcount)


def totals(queue: Queue) -> dict[str, Any]:
    """Progress over all tags."""
    ledger = queue.ledger
    probability: Floats = np.nan_to_num(queue.probability)
    open_now = queue.open_entries()
    likely = open_now & (probability >= LIKELY)
    base = ledger.columns.base
    width = base.shape[1]
    added = (ledger.values == POSITIVE).sum() - (base == POSITIVE).sum()
    known = (ledger.values != UNKNOWN).sum() - (base != UNKNOWN).sum()
    return {
        "photos": len(ledger.library),
        "tags": len(ledger.columns.names),
        "open": int(likely.sum()),
        "possible": int(open_now.sum()),
        "expected": round(float(probability[open_now].sum()), 1),
        "decided": int(known),
        "found": int(added),
        "complete": len(ledger.completed),
        "guided": {
            "count": len(queue.guided),
            "done": sum(queue.is_complete(row) for row in queue.guided.tolist()),
        },
        "new_tags": len(ledger.columns.names) - width,
    }
