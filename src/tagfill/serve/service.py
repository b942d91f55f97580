"""What all requests share: photos, labels, the served model and the queue."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
import sqlalchemy as sa
from fastapi import Depends, HTTPException, Request
from PIL import Image

from tagfill.serve.api.schema import Saved
from tagfill.serve.batcher import Batcher
from tagfill.serve.database import Database, people, settings
from tagfill.serve.ledger import Entry, Ledger
from tagfill.serve.library import Library, Pictures
from tagfill.serve.metrics import DECISIONS
from tagfill.serve.model import ServedModel, is_run, open_model
from tagfill.serve.queue import Queue
from tagfill.serve.security import Policy
from tagfill.serve.uploads import answered, busy

if TYPE_CHECKING:
    from tagfill.serve.jobs import Jobs

SERVED = "served model"
MOST_EXPLAINED = 32
"""Pictures that may wait to be explained."""
Made = TypeVar("Made")


@dataclass(frozen=True)
class Person:
    """The user of a request; programs with a token have no session."""

    name: str
    session: str | None = None

    @property
    def holder(self) -> str:
        """Who cards are leased to; two people may have the same name."""
        return self.session or self.name


class Service:
    """The state of a server; ``model`` is the one served first."""

    def __init__(
        self, database: Database, library: Library, model: ServedModel, policy: Policy
    ) -> None:
        self.database, self.library, self.policy = database, library, policy
        self.origin = model.path
        self.home = model.path.parent
        self.ledger = Ledger(database, library)
        self.pictures = Pictures(library.paths)
        self.batcher = Batcher(lambda: self.model.engine)
        self._switch = threading.Lock()
        self._explainer = ThreadPoolExecutor(1, "explain")
        self._explained = 0
        self._use(model)

    def _use(self, model: ServedModel) -> None:
        self.model, self.queue = model, Queue(self.ledger, model)

    def switch(self, path: Path) -> None:
        """Serve another run from now on."""
        with self._switch:
            if path.resolve() != self.model.path:
                self._use(open_model(path, self.library))
                self.warm()
                self.database.replace(settings, "name", name=SERVED, value=str(self.model.path))

    def warm(self) -> None:
        """Load what the first explanation needs, before anybody waits for it."""
        model, picture = self.model, Image.new("RGB", (64, 64))
        self._explainer.submit(lambda: (model.explain(picture), model.nearest(picture, 1)))

    async def explaining(self, work: Callable[..., Made], *given: Any) -> Made:
        """Explain a picture: one at a time, in a thread that nothing else waits for."""
        if self._explained >= MOST_EXPLAINED:
            raise busy()
        self._explained += 1
        try:
            task = self._explainer.submit(work, *given)
            return await answered(asyncio.wrap_future(task))
        finally:
            self._explained -= 1

    def refresh(self) -> None:
        """Read what other servers on the same database have written."""
        self.ledger.refresh()
        self.queue.update()

    @contextmanager
    def current(self) -> Iterator[None]:
        """The labels as they are now; nobody else changes them during the block."""
        with self.ledger.lock:
            self.refresh()
            yield

    def row(self, photo: int) -> int:
        """A photo's row; 404 if there is none."""
        if not 0 <= photo < len(self.library):
            raise HTTPException(404, "no such photo")
        return photo

    def column(self, tag: str) -> int:
        """A tag's column; 404 if there is none."""
        column = self.ledger.columns.find(tag)
        if column is None:
            raise HTTPException(404, "no such tag")
        return column

    def entry(
        self, person: Person, row: int, tag: str, value: int, *, kind: str, view: str
    ) -> Entry:
        """A line for the log, with the probability of the model."""
        column, chance = self.ledger.columns.find(tag), None
        if column is not None and column < self.queue.probability.shape[1]:
            chance = self.queue.chance(row, column)
        image = self.library.table.images[row]
        return Entry(image, tag, value, kind, view, person.name, self.model.name, chance)

    def save(self, entries: Sequence[Entry], release: Sequence[tuple[str, str]] = ()) -> Saved:
        """Write one action of a person; it is on disk on return, and its cards are given back."""
        answered = [(entry.image, entry.tag) for entry in entries]
        batch = self.ledger.write(entries, release=[*answered, *release])
        self.queue.update()
        DECISIONS.inc(len(entries))
        return Saved(batch=batch, saved=len(entries))

    def person(self, session: str | None, header: str | None) -> Person:
        if session is None:
            return Person((header or "api")[:80])
        query = sa.select(people.c.name).where(people.c.session == session)
        with self.database.read() as connection:
            name = connection.scalar(query)
        return Person(str(name) if name else f"guest-{session[:4]}", session)

    def tags_of(self, row: int, value: int) -> list[str]:
        """The names of a photo's tags in one state."""
        columns = np.flatnonzero(self.ledger.values[row] == value)
        return [self.ledger.columns.names[column] for column in columns]

    @cached_property
    def photo_names(self) -> dict[str, int]:
        """Photos by file name without folders, where only one has it."""
        names = [image.rpartition("/")[2] for image in self.library.table.images]
        counts = Counter(names)
        return {name: row for row, name in enumerate(names) if counts[name] == 1}

    def restore(self) -> None:
        """Serve the model that was served when the server last stopped, if it is still there."""
        path = Path(self.database.setting(SERVED, str(self.model.path)))
        if is_run(path):
            self.switch(path)

    @cached_property
    def jobs(self) -> Jobs:
        from tagfill.serve.jobs import Jobs

        return Jobs(self)

    def close(self) -> None:
        """Stop the model's thread and close the database."""
        self.batcher.close()
        self._explainer.shutdown(cancel_futures=True)
        self.database.close()


def service_of(request: Request) -> Service:
    """The service a request is for; its log is up to date."""
    service: Service = request.app.state.service
    return service


def person_of(request: Request) -> Person:
    state: dict[str, Any] = request.scope["state"]
    session = None if state["trusted"] else state["session"]
    name = request.headers.get("x-reviewer")
    if name is not None and not name.isprintable():
        raise HTTPException(400, "the reviewer's name has invalid characters")
    return service_of(request).person(session, name)


def row_of(request: Request, photo: int) -> int:
    return service_of(request).row(photo)


Served = Annotated[Service, Depends(service_of)]
Row = Annotated[int, Depends(row_of)]
CurrentPerson = Annotated[Person, Depends(person_of)]
