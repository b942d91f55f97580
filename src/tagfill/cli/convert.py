"""`tagfill convert`: the same labels in another format."""

from __future__ import annotations

from collections.abc import Mapping
from json import dumps as json_document
from pathlib import Path
from typing import Any

from tagfill.cli.labels import AS_USUAL, Reading, counts, emit_labels, save
from tagfill.cli.options import Flag, Force, Json
from tagfill.cli.output import say
from tagfill.errors import TagfillError
from tagfill.files import write_text
from tagfill.labels.croissant import FILE
from tagfill.labels.croissant import croissant as metadata_of
from tagfill.labels.formats import find_writable


def convert(
    data: Path,
    out: Path,
    /,
    *,
    to: str,
    reading: Reading = AS_USUAL,
    croissant: Flag = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write labels in another format.

    What the other format cannot hold is reported.

    Args:
        data: The label file or folder to read.
        out: The file or folder to write.
        to: Format to write.
        croissant: Write croissant.json beside OUT, which describes its columns (csv_wide only).
    """
    if croissant and to != "csv_wide":
        raise TagfillError("Croissant metadata describe wide tables", remedy="add --to csv_wide")
    find_writable(to)
    dataset = reading.load(data)
    lost = save(dataset, out, to, force=force)
    if croissant:
        described = json_document(metadata_of(out, dataset.table), indent=2)
        write_text(out.with_name(FILE), described)
    result = {
        "source": data,
        "format": dataset.format,
        "out": out,
        "to": to,
        "images": len(dataset.table),
        "classes": len(dataset.table.classes),
        **counts(dataset.table),
    }
    emit_labels(result, dataset, lost, _show, json=json)


def _show(result: Mapping[str, Any]) -> None:
    counted = f"{result['images']:,} images, {result['classes']:,} classes"
    say(f"{result['out']}: {counted} as {result['to']} (from {result['format']})")
