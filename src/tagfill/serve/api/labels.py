"""/api/labels: all labels as they are now, one tag for many photos, and files of any format."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Response

from tagfill.labels.formats import formats
from tagfill.labels.io import save_labels
from tagfill.serve.api.schema import VALUES, BulkRequest, Saved
from tagfill.serve.ledger import BULK
from tagfill.serve.service import Asker, Served

FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {}}, "description": "A label file, or a zip."}
}
router = APIRouter(prefix="/api/labels", tags=["labels"])

_SUFFIXES = {
    "csv_wide": ".csv",
    "csv_long": ".csv",
    "tag_list": ".csv",
    "jsonl": ".jsonl",
    "parquet": ".parquet",
    "label_studio": ".json",
    "coco": ".json",
}


@router.post("")
def bulk(service: Served, person: Asker, wanted: BulkRequest) -> Saved:
    """Say of many photos that they have a tag, do not have it, or that nobody knows."""
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
def writable() -> list[str]:
    """Formats that can be written."""
    return sorted(name for name, label_format in formats().items() if label_format.write)


@router.get("/export", response_class=Response, responses=FILE)
def export(service: Served, format: Annotated[str, Query(max_length=40)] = "csv_wide") -> Response:
    """All labels with the decisions in them, as a file; as a zip where the format is a folder."""
    if format not in writable():
        raise HTTPException(422, f"write one of {', '.join(writable())}")
    with service.ledger.lock:
        service.refresh()
        dataset = service.library.dataset(service.ledger.table)
    with tempfile.TemporaryDirectory(prefix="tagfill-export-") as folder:
        target = Path(folder) / f"labels{_SUFFIXES.get(format, '')}"
        save_labels(dataset, target, format=format)
        content, suffix = _packed(Path(folder), target)
    headers = {"content-disposition": f'attachment; filename="labels-{format}{suffix}"'}
    return Response(content, media_type="application/octet-stream", headers=headers)


def _packed(folder: Path, target: Path) -> tuple[bytes, str]:
    """One file as it is; several as a zip."""
    written = sorted(path for path in folder.rglob("*") if path.is_file())
    if written == [target]:
        return target.read_bytes(), target.suffix
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in written:
            archive.write(path, path.relative_to(folder))
    return stream.getvalue(), ".zip"
