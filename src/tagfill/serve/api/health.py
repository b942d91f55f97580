"""/healthz, /readyz and /metrics."""

from __future__ import annotations

import sqlalchemy as sa
from fastapi import APIRouter, HTTPException, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from tagfill.serve.metrics import REGISTRY
from tagfill.serve.service import Served

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthy() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok"}


@router.get("/readyz")
def ready(service: Served) -> dict[str, str]:
    """The database answers and a model is loaded."""
    try:
        with service.database.read() as connection:
            connection.execute(sa.text("SELECT 1"))
    except sa.exc.DBAPIError:
        raise HTTPException(503, "the database does not answer") from None
    return {"status": "ready", "model": service.model.name}


@router.get("/metrics", response_class=PlainTextResponse)
def prometheus() -> Response:
    """Counters and times for Prometheus."""
    return Response(generate_latest(REGISTRY), media_type=CONTENT_TYPE_LATEST)
