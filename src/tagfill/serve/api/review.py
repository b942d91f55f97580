"""/api/review: cards to review, answers, undo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query

from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN
from tagfill.serve.api.schema import (
    VALUES,
    Card,
    CompleteRequest,
    DecisionsRequest,
    GridCard,
    NextCards,
    NextRequest,
    Overview,
    Released,
    ReleaseRequest,
    Saved,
    Suggested,
    TagRequest,
    TagReview,
    UndoRequest,
)
from tagfill.serve.ledger import ACCEPT, ANSWER, COMPLETE, Entry, Line
from tagfill.serve.queue import WHOLE_PHOTO, totals
from tagfill.serve.service import CurrentPerson, Served, Service

router = APIRouter(prefix="/api/review", tags=["review"])


@router.get("")
def overview(service: Served) -> Overview:
    """Progress of the review by tag; the tag with most left to find is first."""
    with service.current():
        queue = service.queue
        reviews = [queue.status(column) for column in range(len(service.ledger.columns.names))]
        reviews.sort(key=lambda review: (-review.open, review.tag))
        return Overview(model=service.model.name, totals=totals(queue), tags=reviews)


@router.get("/tags/{tag:path}")
def tag_state(service: Served, tag: str) -> TagReview:
    """Progress of the review of one tag."""
    with service.current():
        return service.queue.status(service.column(tag))


@router.post("/next")
def next_cards(service: Served, person: CurrentPerson, wanted: NextRequest) -> NextCards:
    """The next cards; nobody else gets them until the lease ends."""
    with service.current():
        exclude = {service.row(photo) for photo in wanted.exclude}
        if wanted.view == "photo":
            rows = service.queue.photos(person.holder, wanted.count, exclude, guided=wanted.guided)
            return NextCards(photos=[card(service, row) for row in rows])
        if wanted.tag is None:
            raise HTTPException(422, "the view by tag needs a tag")
        column = service.column(wanted.tag)
        page = service.queue.tag_page(column, person.holder, wanted.count, exclude)
        images, chance = service.library.table.images, service.queue.chance
        return NextCards(
            grid=[
                GridCard(photo=row, name=images[row], probability=chance(row, column))
                for row in page.tolist()
            ]
        )


@router.post("/decisions")
def decide(service: Served, person: CurrentPerson, made: DecisionsRequest) -> Saved:
    """Save answers; they are on disk when this returns."""
    with service.current():
        entries = []
        for decision in made.decisions:
            row, value = service.row(decision.photo), VALUES[decision.value]
            entries.append(
                service.entry(person, row, decision.tag, value, kind=ANSWER, view=made.view)
            )
        return service.save(entries)


@router.post("/complete")
def complete(service: Served, person: CurrentPerson, finished: CompleteRequest) -> Saved:
    """Mark a photo as complete: all tags not ticked are absent."""
    with service.current():
        row = service.row(finished.photo)
        entries = [
            service.entry(person, row, tag, POSITIVE, kind=ANSWER, view="photo")
            for tag in dict.fromkeys(finished.yes)
        ]
        whole = service.entry(person, row, "", UNKNOWN, kind=COMPLETE, view="photo")
        return service.save([*entries, whole], [(whole.image, WHOLE_PHOTO)])


@router.post("/accept")
def accept(service: Served, person: CurrentPerson, chosen: TagRequest) -> Saved:
    """Accept the remaining suggestions of a tag, if its answers show they are right."""
    with service.current():
        column = service.column(chosen.tag)
        if not service.queue.status(column).acceptable:
            raise HTTPException(409, "the answers so far do not show that the rest is right")
        entries = [
            service.entry(person, int(row), chosen.tag, POSITIVE, kind=ACCEPT, view="tag")
            for row in service.queue.remaining(column)
        ]
        return service.save(entries)


@router.post("/undo")
def undo(service: Served, person: CurrentPerson, wanted: UndoRequest | None = None) -> list[Line]:
    """Undo the user's last action, any number of times, or a certain one; returns its lines."""
    with service.ledger.lock:
        entries = service.ledger.undo(person.name, wanted.batch if wanted else None)
        service.refresh()
        return lines(service, entries)


@router.post("/release")
def release(
    service: Served, person: CurrentPerson, cards: ReleaseRequest | None = None
) -> Released:
    """Give back cards that were not answered: those named, or all."""
    if cards is None:
        return Released(released=service.queue.release(person.holder))
    rows = [service.row(photo) for photo in cards.photos]
    return Released(released=service.queue.release(person.holder, rows, cards.tag or WHOLE_PHOTO))


@router.get("/history")
def history(
    service: Served,
    person: CurrentPerson,
    mine: bool = False,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> list[Line]:
    """The latest decisions, the newest first."""
    with service.current():
        return lines(service, service.ledger.history(limit, person.name if mine else None))


def card(service: Service, row: int) -> Card:
    """A photo with its known and suggested tags."""
    names = service.ledger.columns.names
    return Card(
        photo=row,
        name=service.library.table.images[row],
        split=service.library.split_of[row],
        yes=service.tags_of(row, POSITIVE),
        no=service.tags_of(row, NEGATIVE),
        suggestions=[
            Suggested(tag=names[column], probability=service.queue.chance(row, column))
            for column in service.queue.suggestions(row)
        ],
        complete=service.queue.is_complete(row),
    )


def lines(service: Service, entries: Sequence[Entry]) -> list[Line]:
    """Lines of the log as JSON."""
    ledger, rows = service.ledger, service.library.table.row_of
    return [
        Line(**vars(entry), undone=ledger.is_undone(entry.batch), photo=rows.get(entry.image))
        for entry in entries
    ]
