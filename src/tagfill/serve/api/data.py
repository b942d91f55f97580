"""/api/photos as a list, /api/tags and /api/suspects: browse, rename, check."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query

from tagfill.labels import POSITIVE, UNKNOWN
from tagfill.serve.api.schema import RenameRequest, Saved
from tagfill.serve.browse import Filter, State, matching, suspects, tag_counts, together
from tagfill.serve.ledger import RENAME, Entry
from tagfill.serve.service import Asker, Served

router = APIRouter(prefix="/api", tags=["data"])

Text = Annotated[str, Query(max_length=200)]


@router.get("/photos")
def photos(
    service: Served,
    tag: Annotated[str | None, Query(max_length=200)] = None,
    state: State = "any",
    q: Text = "",
    split: Annotated[str | None, Query(max_length=20)] = None,
    page: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    size: Annotated[int, Query(ge=1, le=500)] = 60,
) -> dict[str, Any]:
    """Photos by the state of a tag and by words in names and tags, a page at a time."""
    with service.ledger.lock:
        service.refresh()
        rows = matching(service, Filter(tag or None, state, q, split or None))
        column = service.ledger.columns.find(tag) if tag else None
        listed = [
            {
                "photo": row,
                "name": service.library.table.images[row],
                "split": service.library.split_of[row],
                "yes": service.tags_of(row, POSITIVE),
                "probability": None if column is None else service.queue.chance(row, column),
                "complete": service.ledger.is_complete(row),
            }
            for row in rows[page * size : (page + 1) * size].tolist()
        ]
        return {"total": len(rows), "page": page, "size": size, "photos": listed}


@router.get("/tags")
def tags(service: Served) -> list[dict[str, Any]]:
    """All tags, and how many photos have them, lack them, or may have them."""
    with service.ledger.lock:
        service.refresh()
        return tag_counts(service)


@router.get("/tags/together")
def co_occurrence(
    service: Served, count: Annotated[int, Query(ge=1, le=60)] = 20
) -> dict[str, Any]:
    """How often the most frequent tags occur on the same photo."""
    with service.ledger.lock:
        service.refresh()
        return together(service, count)


@router.post("/tags/rename")
def rename(service: Served, person: Asker, wanted: RenameRequest) -> Saved:
    """Rename a tag; if the new name exists, the two are merged."""
    with service.ledger.lock:
        service.refresh()
        column = service.column(wanted.tag)
        old = service.ledger.columns.names[column]
        if old == wanted.to:
            raise HTTPException(409, "the tag already has this name")
        line = Entry(
            "", old, UNKNOWN, RENAME, "tags", person.name, service.model.name, target=wanted.to
        )
        batch = service.ledger.write([line])
        service.queue.update()
        return Saved(batch=batch, saved=1)


@router.get("/suspects")
def suspected(
    service: Served, count: Annotated[int, Query(ge=1, le=500)] = 60
) -> list[dict[str, Any]]:
    """Written tags that look wrong, the least likely first."""
    with service.ledger.lock:
        service.refresh()
        return suspects(service, count)
