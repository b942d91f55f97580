"""/api/labels: all labels as they are now, one tag for many photos, and files of any format."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Response

from tagfill.serve.api.schema import VALUES, BulkRequest, Saved
from tagfill.serve.export import exported, writable
from tagfill.serve.ledger import BULK
from tagfill.serve.service import Asker, Served

FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {}}, "description": "A label file, or a zip."}
}
router = APIRouter(prefix="/api/labels", tags=["labels"])


@router.post("")
def bulk(service: Served, person: Asker, wanted: BulkRequest) -> Saved:
    """Mark many photos as having a tag, not having it, or unknown."""
    with service.ledger.lock:
        service.refresh()
        value = VALUES[wanted.value]
        entries = [
            service.entry(person, service.row(photo), wanted.tag, value, kind=BULK, view="data")
            for photo in dict.fromkeys(wanted.photos)
        ]
        batch = service.ledger.write(entries)
        service.queue.update()
        return Saved(batch=batch, saved=len(entries))


@router.get("/formats")
def listed() -> list[str]:
    """Formats that can be written."""
    return writable()


@router.get("/export", response_class=Response, responses=FILE)
def export(service: Served, format: Annotated[str, Query(max_length=40)] = "csv_wide") -> Response:
    """All labels including decisions, as a file; as a zip if the format has several."""
    if format not in writable():
        raise HTTPException(404, f"there is {', '.join(writable())}")
    content, suffix = exported(service, format)
    headers = {"content-disposition": f'attachment; filename="labels-{format}{suffix}"'}
    return Response(content, media_type="application/octet-stream", headers=headers)
