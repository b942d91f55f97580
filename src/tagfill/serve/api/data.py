"""/api/photos as a list, /api/tags and /api/suspects: find, count, rename, check."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, HTTPException, Query

from tagfill.arrays import Mask
from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN
from tagfill.serve.api.answers import FoundPhoto, FoundPhotos, Suspect, TagCounts, Together
from tagfill.serve.api.schema import RenameRequest, Saved
from tagfill.serve.ledger import RENAME, Entry
from tagfill.serve.service import CurrentPerson, Served, Service

router = APIRouter(prefix="/api", tags=["data"])

EntryState = Literal["any", "yes", "no", "suggested", "unknown"]
_KNOWN = {"yes": POSITIVE, "no": NEGATIVE, "unknown": UNKNOWN}


@router.get("/photos")
def photos(
    service: Served,
    tag: Annotated[str | None, Query(max_length=200)] = None,
    state: EntryState = "any",
    q: Annotated[str, Query(max_length=200)] = "",
    split: Annotated[str | None, Query(max_length=20)] = None,
    page: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    size: Annotated[int, Query(ge=1, le=500)] = 60,
) -> FoundPhotos:
    """Photos by the state of a tag, or of any, and by words in names and tags, a page at a time.

    They come in the order of the file, by probability if suggestions of a tag are wanted.
    """
    with service.current():
        library, column = service.library, service.ledger.columns.find(tag) if tag else None
        if tag and column is None:  # its answers may have been undone
            return FoundPhotos(total=0, page=page, size=size, photos=[])
        chosen = np.ones(len(library), dtype=bool)
        if state != "any":
            columns = slice(None) if column is None else slice(column, column + 1)
            chosen &= _in_state(service, columns, state).any(axis=1)
        if split:
            chosen &= np.array([name == split for name in library.split_of])
        for word in q.lower().split():
            chosen &= _with_word(service, word)
        rows = np.flatnonzero(chosen)
        if column is not None and state in ("suggested", "unknown"):
            chance = np.nan_to_num(service.queue.probability[rows, column])
            rows = rows[np.argsort(-chance, kind="stable")]
        listed = [
            FoundPhoto(
                photo=row,
                name=library.table.images[row],
                split=library.split_of[row],
                yes=service.tags_of(row, POSITIVE),
                probability=None if column is None else service.queue.chance(row, column),
                complete=service.ledger.is_complete(row),
            )
            for row in rows[page * size : (page + 1) * size].tolist()
        ]
        return FoundPhotos(total=len(rows), page=page, size=size, photos=listed)


def _in_state(service: Service, columns: slice, state: EntryState) -> Mask:
    values = service.ledger.values[:, columns]
    if state in _KNOWN:
        return np.asarray(values == _KNOWN[state])
    return np.asarray((values == UNKNOWN) & service.queue.suggested[:, columns])


def _with_word(service: Service, word: str) -> Mask:
    named = np.array([word in image.lower() for image in service.library.table.images])
    columns = [word in name.lower() for name in service.ledger.columns.names]
    return np.asarray(named | (service.ledger.values[:, columns] == POSITIVE).any(axis=1))


@router.get("/tags")
def tags(service: Served) -> list[TagCounts]:
    """All tags, and how many photos have them, lack them, or may have them."""
    with service.current():
        counts = {
            state: _in_state(service, slice(None), state).sum(axis=0).tolist()
            for state in ("yes", "no", "unknown", "suggested")
        }
        learned = set(service.model.bundle.classes)
        return [
            TagCounts(
                tag=name,
                learned=name in learned,
                **{state: count[column] for state, count in counts.items()},
            )
            for column, name in enumerate(service.ledger.columns.names)
        ]


@router.get("/tags/together")
def together(service: Served, count: Annotated[int, Query(ge=1, le=60)] = 20) -> Together:
    """How often the most frequent tags occur on the same photo."""
    with service.current():
        positive = (service.ledger.values == POSITIVE).astype(np.int64)
        columns = np.argsort(-positive.sum(axis=0), kind="stable")[:count]
        pairs = positive[:, columns].T @ positive[:, columns]
        names = [service.ledger.columns.names[column] for column in columns]
        return Together(tags=names, counts=pairs.tolist())


@router.post("/tags/rename")
def rename(service: Served, person: CurrentPerson, wanted: RenameRequest) -> Saved:
    """Rename a tag; if the new name exists, the two are merged."""
    with service.current():
        old = service.ledger.columns.names[service.column(wanted.tag)]
        if old == wanted.to:
            raise HTTPException(409, "the tag already has this name")
        line = Entry(
            "", old, UNKNOWN, RENAME, "tags", person.name, service.model.name, target=wanted.to
        )
        return service.save([line])


@router.get("/suspects")
def suspects(service: Served, count: Annotated[int, Query(ge=1, le=500)] = 60) -> list[Suspect]:
    """Unreviewed written tags that look wrong, the least likely first."""
    with service.current():
        ledger, listed = service.ledger, []
        for row, tag, chance in service.model.suspects():
            column = ledger.columns.find(tag)
            if column is not None and not ledger.decided[row, column]:
                name, now = service.library.table.images[row], ledger.columns.names[column]
                chance = round(chance, 4)
                listed.append(Suspect(photo=row, name=name, tag=now, probability=chance))
        return listed[:count]
