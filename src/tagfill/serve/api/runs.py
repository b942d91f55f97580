"""/api/runs: models there are, how good they are, and which one is served."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from tagfill.serve.measure import measured
from tagfill.serve.service import Served

router = APIRouter(prefix="/api/runs", tags=["runs"])


@router.get("/measured")
def on_complete_photos(service: Served) -> dict[str, Any]:
    """Metrics of the served model on photos people have labeled in full."""
    with service.ledger.lock:
        service.refresh()
        return measured(service)
