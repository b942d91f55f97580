"""/api/labels: one tag for many photos, and all labels as files of any format."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import StreamingResponse

from tagfill.serve import exports
from tagfill.serve.api.schema import VALUES, BulkRequest, Command, Saved
from tagfill.serve.ledger import BULK
from tagfill.serve.responses import refusing
from tagfill.serve.service import CurrentPerson, Served

FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {}}, "description": "A label file, or a zip."}
}
router = APIRouter(prefix="/api/labels", tags=["labels"])


@router.post("")
def bulk(service: Served, person: CurrentPerson, wanted: BulkRequest) -> Saved:
    """Mark many photos as having a tag, not having it, or unknown."""
    with service.current():
        value = VALUES[wanted.value]
        return service.save(
            [
                service.entry(person, service.row(photo), wanted.tag, value, kind=BULK, view="data")
                for photo in dict.fromkeys(wanted.photos)
            ]
        )


@router.get("/formats")
def writable() -> list[str]:
    """What labels can be exported as: every format that is written, sidecars, tagged photos."""
    return exports.exportable()


@router.get("/command")
def in_place(service: Served) -> Command:
    """The command that writes the decisions into the photos themselves (XMP and IPTC)."""
    return Command(command=exports.command(service))


@router.get("/export", response_class=StreamingResponse, responses=FILE)
def export(
    service: Served, format: Annotated[str, Query(max_length=40)] = "csv_wide"
) -> StreamingResponse:
    """All labels including decisions, as a file; as a zip if the format has several."""
    if format not in writable():
        raise HTTPException(404, f"there is {', '.join(writable())}")
    with refusing(409):
        suffix, content = exports.export(service, format)
    headers = {"content-disposition": f'attachment; filename="labels-{format}{suffix}"'}
    return StreamingResponse(content, media_type="application/octet-stream", headers=headers)
