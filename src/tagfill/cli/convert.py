"""`tagfill convert`: the same labels in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tagfill.cli.labels import AS_USUAL, Reading, counts, metadata, report, save
from tagfill.labels import Dataset


def convert(
    data: Path,
    out: Path,
    /,
    *,
    to: str,
    from_: Annotated[str | None, Parameter(name="--from", alias="--format")] = None,
    reading: Reading = AS_USUAL,
    croissant: bool = False,
    force: bool = False,
    json: bool = False,
) -> None:
    """Write labels in another format; says what the target cannot hold.

    Args:
        data: The label file or folder to read.
        out: The file or folder to write.
        to: Format to write.
        from_: Format of DATA; detected when not given.
        croissant: Write croissant.json beside OUT, which describes its columns (csv_wide only).
        force: Overwrite OUT.
        json: One JSON object on stdout.
    """
    from tagfill.cli.output import console, print_json
    from tagfill.errors import TagfillError

    if croissant and to != "csv_wide":
        raise TagfillError("Croissant metadata describe wide tables", remedy="add --to csv_wide")
    dataset = reading.load(data, from_)
    lost = save(dataset, out, to, force=force)
    if croissant:
        _describe(out, dataset)
    images, classes = len(dataset.table), len(dataset.table.classes)
    if json:
        print_json(
            {
                "source": data,
                "format": dataset.format,
                "out": out,
                "to": to,
                "images": images,
                "classes": classes,
                **counts(dataset.table),
                "not_held": lost,
                "notes": dataset.notes,
                "problems": metadata(dataset.problems),
            }
        )
        return
    report(dataset, lost)
    summary = f"{out}: {images:,} images, {classes:,} classes as {to} (from {dataset.format})"
    console.print(summary, soft_wrap=True)


def _describe(labels: Path, dataset: Dataset) -> None:
    import json

    from tagfill.files import write_text
    from tagfill.labels.croissant import FILE, croissant

    text = json.dumps(croissant(labels, dataset.table), indent=2)
    write_text(labels.with_name(FILE), text)
