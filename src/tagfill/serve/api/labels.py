"""/api/labels: one tag for many photos, and all labels as files of any format."""

from __future__ import annotations

import io
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Response

from tagfill.labels.formats import formats
from tagfill.labels.io import save_labels
from tagfill.labels.photos.change import change_sidecars, edits
from tagfill.labels.photos.labels import photo_changes
from tagfill.serve.api.schema import VALUES, BulkRequest, Saved
from tagfill.serve.ledger import BULK
from tagfill.serve.service import Asker, Served, Service

XMP = "xmp"
SUFFIXES = {
    "csv_wide": ".csv",
    "csv_long": ".csv",
    "tag_list": ".csv",
    "jsonl": ".jsonl",
    "parquet": ".parquet",
    "label_studio": ".json",
}
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
        return service.save(
            [
                service.entry(person, service.row(photo), wanted.tag, value, kind=BULK, view="data")
                for photo in dict.fromkeys(wanted.photos)
            ]
        )


@router.get("/formats")
def writable() -> list[str]:
    """Formats that can be written, and sidecars; folders of images would hold the photos too."""
    names = {name for name, kind in formats().items() if kind.write and name != "image_folder"}
    return sorted(names | {XMP})


@router.get("/export", response_class=Response, responses=FILE)
def export(service: Served, format: Annotated[str, Query(max_length=40)] = "csv_wide") -> Response:
    """All labels including decisions, as a file; as a zip if the format has several."""
    if format not in writable():
        raise HTTPException(404, f"there is {', '.join(writable())}")
    with tempfile.TemporaryDirectory(prefix="tagfill-export-") as folder:
        target = Path(folder, f"labels{SUFFIXES.get(format, '')}")
        _write(service, format, target)
        content, suffix = _packed(Path(folder), target)
    headers = {"content-disposition": f'attachment; filename="labels-{format}{suffix}"'}
    return Response(content, media_type="application/octet-stream", headers=headers)


def _write(service: Service, format: str, target: Path) -> None:
    with service.ledger.lock:
        service.refresh()
        table = service.ledger.table
        sure = {
            (entry.image, table.classes[column]): entry.probability
            for _, column, entry in service.ledger.current()
        }
    dataset = service.library.dataset(replace(table, reviewed=None))
    if format != XMP:
        save_labels(dataset, target, format=format)
        return
    changes = photo_changes(dataset, table, sure)
    paths = {image: service.library.paths[table.row_of[image]] for image in changes}
    work = edits({paths[image]: change for image, change in changes.items()}, dataset.hierarchy)
    change_sidecars(work, None, {paths[image]: target.parent / image for image in changes})


def _packed(folder: Path, target: Path) -> tuple[bytes, str]:
    """The one file written, or a zip of all, and the suffix."""
    written = sorted(path for path in folder.rglob("*") if path.is_file())
    if written == [target]:
        return target.read_bytes(), target.suffix
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in written:
            archive.write(path, path.relative_to(folder))
    return stream.getvalue(), ".zip"
