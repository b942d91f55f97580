"""Croissant metadata (ML Commons, version 1.0) of a wide label table: what each column means."""

from __future__ import annotations

import csv
import hashlib
import re
from pathlib import Path
from typing import Any

from tagfill.labels.table import LabelTable

FILE = "croissant.json"
CONFORMS = "http://mlcommons.org/croissant/1.0"
_TERMS = (
    *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject"),
    *("fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField"),
    *("path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate"),
    *("separator", "source", "subField", "transform"),
)
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS},
}
"""What the specification gives, term by term."""


def croissant(labels: Path, table: LabelTable, name: str | None = None) -> dict[str, Any]:
    """The description of a wide CSV: one record per image, one field per class.

    Args:
        labels: the file, as ``csv_wide`` writes it: a column of images, then one of each class.
        table: what it holds.
        name: of the data set; the file's by default.
    """
    with labels.open(encoding="utf-8", newline="") as stream:
        header = next(csv.reader(stream))
    names = (header[0], *table.classes)
    columns = list(zip(names, header, strict=False))
    file = {"@id": labels.name}
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": name or labels.stem,
        "description": f"{len(table):,} images with labels for {len(table.classes):,} classes:"
        " 1 is present, 0 is absent, empty is unknown.",
        "conformsTo": CONFORMS,
        "distribution": [
            {
                "@type": "cr:FileObject",
                **file,
                "name": labels.name,
                "contentUrl": labels.name,
                "encodingFormat": "text/csv",
                "sha256": hashlib.sha256(labels.read_bytes()).hexdigest(),
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "labels",
                "name": "labels",
                "field": [_field(number, *column, file) for number, column in enumerate(columns)],
            }
        ],
    }


def _field(number: int, name: str, column: str, file: dict[str, str]) -> dict[str, Any]:
    """A column; ids are plain words, and unique even if plain names would collide."""
    plain = re.sub(r"\W+", "_", name).strip("_") or "class"
    return {
        "@type": "cr:Field",
        "@id": f"labels/{number}_{plain}",
        "name": name,
        "dataType": "sc:Text" if number == 0 else "sc:Integer",
        "source": {"fileObject": file, "extract": {"column": column}},
    }
