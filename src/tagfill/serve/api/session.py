"""/api/session: the user."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException

from tagfill.serve.api.schema import NameRequest, Session
from tagfill.serve.database import people
from tagfill.serve.service import CurrentPerson, Person, Served, Service

router = APIRouter(prefix="/api/session", tags=["session"])


@router.get("")
def session(service: Served, person: CurrentPerson) -> Session:
    """The user of the session; starts a session if there is none."""
    return _session(service, person)


@router.put("")
def rename(service: Served, person: CurrentPerson, wanted: NameRequest) -> Session:
    """Set the name that decisions are stored with."""
    if person.session is None:
        raise HTTPException(400, "programs with a token set the reviewer in X-Reviewer")
    service.database.replace(people, "session", session=person.session, name=wanted.name)
    return _session(service, Person(wanted.name, person.session))


def _session(service: Service, person: Person) -> Session:
    return Session(
        name=person.name,
        csrf=None if person.session is None else service.policy.csrf(person.session),
        read_only=service.policy.read_only,
        model=service.model.name,
    )
