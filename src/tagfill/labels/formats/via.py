"""VGG Image Annotator: JSON of a project or of its annotations, and its CSV.

The values of attributes are the classes, of regions and of whole files alike: ``{"type": "cat"}``
and ``{"type": {"cat": true}}`` both say that a cat is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._json_values import (
    load_json,
    mapped,
    objects,
    parse_json,
)
from tagfill.labels.formats._names import is_about_file, plain_name
from tagfill.labels.formats._sheet import csv_sheet
from tagfill.labels.formats._text import head
from tagfill.labels.formats._ticks import code_of
from tagfill.labels.formats.base import Format, Source
from tagfill.labels.table import POSITIVE

_COLUMNS = ("filename", "file_attributes", "region_attributes")
_NO_TAGS = {"publicdomain", "imageurl"}
"""Attributes that a new project has."""


def _detect(path: Path) -> bool:
    text = head(path).lstrip()
    if text.startswith("{"):
        return '"filename"' in text and '"regions"' in text and '"file_attributes"' in text
    first = text.split("\n", 1)[0]
    return all(column in first for column in _COLUMNS)


def _read(source: Source) -> Dataset:
    builder = LabelBuilder(source, free_tags=True)
    record_of: dict[str, int] = {}
    for row, image, attributes in _entries(source.path):
        if image not in record_of:
            record_of[image] = builder.record(image, row)
        for name in _tags(attributes):
            builder.mark(record_of[image], builder.label(name, row), POSITIVE)
    if not builder.classes:
        raise source.refusal(
            "no attribute of a region or file names a class",
            remedy="give the regions an attribute such as 'class' and fill it in",
        )
    return builder.dataset()


def _entries(path: Path) -> Iterator[tuple[int | None, str, Mapping[str, Any]]]:
    """Row, image and attributes of every file and region."""
    if not head(path).lstrip().startswith("{"):
        sheet = csv_sheet(path)
        image, *columns = (sheet.header.index(name) for name in _COLUMNS)
        for row, fields in sheet.records():
            for column in columns:
                text = "".join(fields[column : column + 1]).strip() or "{}"
                yield row, fields[image], mapped(parse_json(text, path, row))
        return
    content = mapped(load_json(path))
    for entry in mapped(content.get("_via_img_metadata", content)).values():
        file = mapped(entry)
        regions = file.get("regions")
        listed = list(regions.values()) if isinstance(regions, dict) else regions
        for item in ({"region_attributes": file.get("file_attributes")}, *objects(listed)):
            yield None, str(file.get("filename", "")), mapped(item.get("region_attributes"))


def _tags(attributes: Mapping[str, Any]) -> Iterator[str]:
    for name, value in attributes.items():
        if is_about_file(name) or plain_name(name) in _NO_TAGS:
            continue
        if isinstance(value, dict):
            for option, chosen in value.items():
                if code_of(json.dumps(chosen).strip('"')) == POSITIVE:
                    yield option
        elif isinstance(value, str) and value.strip():
            yield value


FORMAT = Format("via", "VGG Image Annotator (VIA): JSON or CSV", _detect, _read)
