"""What to review next: the order of photos and tags, and who reviews what."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Collection, Iterable
from functools import cached_property
from itertools import islice

import numpy as np
import sqlalchemy as sa

from tagfill.arrays import Floats, Mask
from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Rows
from tagfill.labels.split import stratified_split
from tagfill.recover.choose import expected_gain
from tagfill.serve.api.schema import TagReview, Totals
from tagfill.serve.database import leases
from tagfill.serve.ledger import Ledger
from tagfill.serve.model import ServedModel, spread_over
from tagfill.serve.stopping import rest_in_order

LEASE_SECONDS = 300.0
LIKELY = 0.5
"""From here on a tag is rather there than not; the rest of such photos can be accepted unseen."""
POSSIBLE = 0.1
"""From here on a tag is asked about on the card of a photo."""
SHOWN = 8
"""Most tags on the card of a photo."""
ALWAYS_SHOWN = 3
"""Tags on the card of a photo, however unlikely they are."""
GUIDED = 50
"""Photos of the guided start."""
WHOLE_PHOTO = ""
"""The tag of a lease on all of a photo."""


class Queue:
    """The order of review under one model."""

    def __init__(self, ledger: Ledger, model: ServedModel) -> None:
        self.ledger, self.model = ledger, model
        self._names: tuple[str, ...] = ()
        self.update()

    def update(self) -> None:
        names = tuple(self.ledger.columns.names)
        before, self._names = self._names, names
        if names == before:
            return
        posterior, added = self.model.posterior, names[len(before) :]
        if before and names == before + added and set(added).isdisjoint(posterior.classes):
            self._widen(len(added))
            return
        self.probability = spread_over(posterior.classes, self.ledger.columns, posterior.unwritten)
        base = self.ledger.columns.base
        unknown = np.ones(self.probability.shape, dtype=bool)
        unknown[:, : base.shape[1]] = base == UNKNOWN
        self.askable = unknown & ~np.isnan(self.probability)
        chance = np.where(self.askable, self.probability, 0.0)
        self.suggested = self.askable & as_many_as_expected(chance)
        few = min(ALWAYS_SHOWN, chance.shape[1])
        likeliest = np.zeros(chance.shape, dtype=bool)
        of_photos = np.argpartition(-chance, few - 1, axis=1)[:, :few]
        np.put_along_axis(likeliest, of_photos, True, axis=1)
        self._on_cards = self.askable & (self.suggested | (chance >= POSSIBLE) | likeliest)
        worth = expected_gain(np.nan_to_num(self.probability), unknown)
        self._gain = np.where(self._on_cards, worth, 0.0)
        self._drawn: dict[int, Rows] = {}

    def _widen(self, count: int) -> None:
        """Take in new tags, which the model does not know: there is nothing to ask about them."""
        more = ((0, 0), (0, count))
        self.probability = np.pad(self.probability, more, constant_values=np.nan)
        self.askable, self.suggested = np.pad(self.askable, more), np.pad(self.suggested, more)
        self._on_cards, self._gain = np.pad(self._on_cards, more), np.pad(self._gain, more)

    def _on_open_cards(self) -> Mask:
        """[N, K] entries that cards of photos still ask about."""
        return np.asarray(self._on_cards & (self.ledger.decided == 0))

    def chance(self, row: int, column: int) -> float | None:
        """The probability of an entry; None if the model does not know the tag."""
        value = float(self.probability[row, column])
        return None if np.isnan(value) else round(value, 4)

    # by tag

    def tag_order(self, column: int) -> Rows:
        """Photos that may have a tag: likely ones in random order, then all others by chance.

        In random order those reviewed first represent the rest.
        """
        chance = self.probability[:, column]
        others = np.flatnonzero(self.askable[:, column] & (chance < LIKELY))
        others = others[np.argsort(-chance[others], kind="stable")]
        return np.concatenate([self._likely(column), others])

    def _likely(self, column: int) -> Rows:
        """Likely photos of a tag in random order."""
        if column not in self._drawn:
            likely = self.askable[:, column] & (self.probability[:, column] >= LIKELY)
            seed = zlib.crc32(f"{self.model.name}\0{self._names[column]}".encode())
            self._drawn[column] = np.random.default_rng(seed).permutation(np.flatnonzero(likely))
        return self._drawn[column]

    def status(self, column: int) -> TagReview:
        values, decided = self.ledger.values[:, column], self.ledger.decided[:, column]
        likely, asked = self._likely(column), self.askable[:, column] & (decided > 0)
        suggested, left = self.suggested[:, column], self.askable[:, column] & (decided == 0)
        likeliest = self.probability[left, column].max(initial=0.0)
        # what was known before this model's first answer cannot represent what it suggests
        first = self.ledger.first_lines.get(self.model.name, math.inf)
        drawn = likely[(decided[likely] == 0) | (decided[likely] >= first)]
        rest = rest_in_order(values[drawn] == POSITIVE, decided[drawn] > 0)
        return TagReview(
            tag=self._names[column],
            suggested=int(suggested.sum()),
            open=int((suggested & left).sum()),
            left=int(left.sum()),
            likeliest=round(float(likeliest), 4),
            yes=int((values[asked] == POSITIVE).sum()),
            no=int((values[asked] == NEGATIVE).sum()),
            written=int((values == POSITIVE).sum()),
            rest=rest,
            acceptable=rest.acceptable,
        )

    def remaining(self, column: int) -> Rows:
        """Unreviewed likely photos of a tag."""
        likely = self._likely(column)
        return np.asarray(likely[self.ledger.decided[likely, column] == 0])

    def tag_page(self, column: int, holder: str, count: int, exclude: Collection[int] = ()) -> Rows:
        """The next photos of a tag, leased to one person, most likely first."""
        order = self.tag_order(column)
        still_open = order[self.ledger.decided[order, column] == 0].tolist()
        rows = (row for row in still_open if row not in exclude)
        chosen = np.array(self._lease(rows, self._names[column], holder, count), dtype=np.intp)
        return chosen[np.argsort(-self.probability[chosen, column], kind="stable")]

    # by photo

    def photos(
        self, holder: str, count: int, exclude: Collection[int] = (), *, guided: bool = False
    ) -> list[int]:
        """The next photos, the most useful first, leased to one person."""
        if guided:
            wanted = [row for row in self.guided.tolist() if not self.is_complete(row)]
        else:
            still = self._on_open_cards()
            gain = np.where(still, self._gain, 0.0).sum(axis=1)
            useful = np.argsort(-gain, kind="stable")
            wanted = useful[np.asarray(still.any(axis=1))[useful]].tolist()
        rows = (row for row in wanted if row not in exclude)
        return self._lease(rows, WHOLE_PHOTO, holder, count)

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
        return np.sort(pool[np.concatenate([chosen, rest])[:GUIDED]])

    def is_complete(self, row: int) -> bool:
        """Whether all tags of a photo are known, from the label file or from a person."""
        return self.ledger.is_complete(row) or bool(self.ledger.library.fully_labeled[row])

    def suggestions(self, row: int) -> list[int]:
        """Tags to ask about on a photo's card, most likely first."""
        columns = np.flatnonzero(self._on_open_cards()[row])
        order = np.argsort(-self.probability[row, columns], kind="stable")[:SHOWN]
        return [int(column) for column in columns[order]]

    # leases

    def _lease(self, rows: Iterable[int], tag: str, holder: str, count: int) -> list[int]:
        """The first photos that nobody else is reviewing, leased to one person for a while."""
        images, now = self.ledger.library.table.images, time.time()
        with self.ledger.lock, self.ledger.database.write() as connection:
            far = now + 2 * LEASE_SECONDS  # by a clock that has been put back since
            connection.execute(
                leases.delete().where(sa.or_(leases.c.expires < now, leases.c.expires > far))
            )
            others = connection.execute(sa.select(leases).where(leases.c.who != holder)).all()
            blocking = {lease.tag for lease in others} if tag == WHOLE_PHOTO else {WHOLE_PHOTO, tag}
            taken = {lease.image for lease in others if lease.tag in blocking}
            free = list(islice((row for row in rows if images[row] not in taken), count))
            names = [images[row] for row in free]
            connection.execute(
                leases.delete().where(leases.c.tag == tag, leases.c.image.in_(names))
            )
            if names:
                lease = {"tag": tag, "who": holder, "expires": now + LEASE_SECONDS}
                connection.execute(leases.insert(), [{"image": name, **lease} for name in names])
        return free

    def release(
        self, holder: str, rows: Collection[int] | None = None, tag: str = WHOLE_PHOTO
    ) -> int:
        """End leases of a person: all, or those of some photos; returns how many."""
        ended = leases.delete().where(leases.c.who == holder)
        if rows is not None:
            images = [self.ledger.library.table.images[row] for row in rows]
            ended = ended.where(leases.c.image.in_(images), leases.c.tag == tag)
        with self.ledger.lock, self.ledger.database.write() as connection:
            return int(connection.execute(ended).rowcount)


def as_many_as_expected(chance: Floats) -> Mask:
    """[N, K] the likeliest photos of every tag: as many as are expected to have it.

    All that are rather likely belong to them, and at least one wherever anything is possible.
    """
    expected = np.ceil(chance.sum(axis=0)).astype(np.intp)
    counts = np.maximum(expected, (chance >= LIKELY).sum(axis=0)).clip(max=len(chance))
    chosen = np.zeros(chance.shape, dtype=bool)
    for column in np.flatnonzero(counts).tolist():
        count = int(counts[column])
        chosen[np.argpartition(-chance[:, column], count - 1)[:count], column] = True
    return chosen


def totals(queue: Queue) -> Totals:
    """Progress over all tags."""
    ledger, base = queue.ledger, queue.ledger.columns.base
    left, guided = queue.askable & (ledger.decided == 0), queue.guided.tolist()
    return Totals(
        photos=len(ledger.library),
        tags=len(ledger.columns.names),
        open=int((queue.suggested & left).sum()),
        left=int(left.sum()),
        expected=round(float(queue.probability[left].sum()), 1),
        decided=int((ledger.values != UNKNOWN).sum() - (base != UNKNOWN).sum()),
        found=int((ledger.values == POSITIVE).sum() - (base == POSITIVE).sum()),
        complete=len(ledger.completed),
        guided={"count": len(guided), "done": sum(map(queue.is_complete, guided))},
        new_tags=len(ledger.columns.names) - base.shape[1],
    )
