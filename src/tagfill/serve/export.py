"""Labels as files to download."""

from __future__ import annotations

import io
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

from tagfill.labels.formats import formats
from tagfill.labels.io import save_labels
from tagfill.labels.photos.change import change_sidecars, edits
from tagfill.labels.photos.labels import photo_changes
from tagfill.serve.service import Service

XMP = "xmp"
SUFFIXES = {
    "csv_wide": ".csv",
    "csv_long": ".csv",
    "tag_list": ".csv",
    "jsonl": ".jsonl",
    "parquet": ".parquet",
    "label_studio": ".json",
}


def writable() -> list[str]:
    """Formats that can be written, and sidecars of photos."""
    return sorted({name for name, kind in formats().items() if kind.write} | {XMP})


def exported(service: Service, format: str) -> tuple[bytes, str]:
    """All labels with the decisions in them: a file and its suffix; several files as a zip."""
    with service.ledger.lock:
        service.refresh()
        table = service.ledger.table
        sure = {
            (entry.image, table.classes[column]): entry.probability
            for _, column, entry in service.ledger.current()
        }
    dataset = service.library.dataset(replace(table, reviewed=None))
    with tempfile.TemporaryDirectory(prefix="tagfill-export-") as folder:
        root = Path(folder)
        target = root / f"labels{SUFFIXES.get(format, '')}"
        if format == XMP:
            changes = photo_changes(dataset, table, sure)
            paths = {image: service.library.paths[table.row_of[image]] for image in changes}
            work = edits(
                {paths[image]: change for image, change in changes.items()}, dataset.hierarchy
            )
            change_sidecars(work, None, {paths[image]: root / image for image in changes})
        else:
            save_labels(dataset, target, format=format)
        return _packed(root, target)


def _packed(folder: Path, target: Path) -> tuple[bytes, str]:
    written = sorted(path for path in folder.rglob("*") if path.is_file())
    if written == [target]:
        return target.read_bytes(), target.suffix
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in written:
            archive.write(path, path.relative_to(folder))
    return stream.getvalue(), ".zip"
