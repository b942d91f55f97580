"""/api/jobs: train again in the background."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException

from tagfill.serve.api.answers import Job
from tagfill.serve.responses import refusing
from tagfill.serve.service import CurrentPerson, Served

router = APIRouter(prefix="/api/jobs", tags=["jobs"])


@router.get("")
def listed(service: Served) -> list[Job]:
    """All trainings, the newest first."""
    return [Job(**job) for job in service.jobs.all()]


@router.post("", status_code=201)
def start(service: Served, person: CurrentPerson) -> Job:
    """Train again from the labels as they are now."""
    with refusing(409):
        return Job(**service.jobs.start(person.name))


@router.get("/{job}")
def one(service: Served, job: str) -> Job:
    """One training: its state and progress."""
    known = service.jobs.one(job)
    if known is None:
        raise HTTPException(404, "no such job")
    return Job(**known)


@router.delete("/{job}")
def cancel(service: Served, job: str) -> Job:
    """Stop a training; its files are removed."""
    one(service, job)
    with refusing(409):
        service.jobs.cancel(job)
    return one(service, job)
