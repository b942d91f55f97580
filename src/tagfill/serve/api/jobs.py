"""/api/jobs: train again in the background."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, HTTPException

from tagfill.serve.api.answers import Job
from tagfill.serve.responses import refusing
from tagfill.serve.service import Asker, Served

router = APIRouter(prefix="/api/jobs", tags=["jobs"])


@router.get("")
def listed(service: Served) -> list[Job]:
    """All trainings, the newest first."""
    return [_public(job) for job in service.jobs.all()]


@router.post("", status_code=201)
def start(service: Served, person: Asker) -> Job:
    """Train again from the labels as they are now."""
    with refusing(409):
        return _public(service.jobs.start(person.name))


@router.get("/{job}")
def one(service: Served, job: str) -> Job:
    """One training: its state and progress."""
    return _public(_job(service, job))


@router.delete("/{job}")
def cancel(service: Served, job: str) -> Job:
    """Stop a training; its files are removed."""
    _job(service, job)
    with refusing(409):
        service.jobs.cancel(job)
    return _public(_job(service, job))


def _job(service: Served, job: str) -> dict[str, Any]:
    known = service.jobs.one(job)
    if known is None:
        raise HTTPException(404, "no such job")
    return known


def _public(job: dict[str, Any]) -> Job:
    """Without the paths and process numbers of the machine."""
    return Job(**{name: value for name, value in job.items() if name in Job.model_fields})
