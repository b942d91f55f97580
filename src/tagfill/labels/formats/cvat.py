"""CVAT for images (XML): tags and shapes of every image, with the labels of the task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import defusedxml.ElementTree

from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._text import head
from tagfill.labels.formats.base import Format, Source
from tagfill.labels.formats.voc import BROKEN

_FILE = "annotations.xml"
_CORNERS = ("xtl", "ytl", "xbr", "ybr")


_OF_MODEL = "auto"
"""The source of what a model has drawn and nobody has touched."""


def _file(path: Path) -> Path:
    return path / _FILE if path.is_dir() else path


def _detect(path: Path) -> bool:
    text = head(_file(path)).lstrip()
    return text.startswith("<") and "<annotations" in text[:2000] and "<image " in text


def _read(source: Source) -> Dataset:
    source = replace(source, path=_file(source.path))
    try:
        root = defusedxml.ElementTree.parse(source.path).getroot()
    except BROKEN as error:
        raise source.refusal(f"not readable as CVAT annotations ({error})") from None
    builder = LabelBuilder(source)
    names = [label.findtext("name") or "" for label in root.iterfind(".//labels/label")]
    builder.declare(dict.fromkeys(name for name in names if name.strip()))
    for number, image in enumerate(root.iterfind("image"), 1):
        record = builder.record(image.get("name", ""), number)
        builder.split(record, image.get("subset", ""), number)
        shapes = [shape for shape in image if shape.get("label")]
        of_model = [shape for shape in shapes if shape.get("source") == _OF_MODEL]
        shapes = [shape for shape in shapes if shape not in of_model]
        for name in dict.fromkeys(shape.get("label", "") for shape in shapes):
            builder.positive(record, name, number)
        for name in dict.fromkeys(shape.get("label", "") for shape in of_model):
            builder.suggest(record, builder.label(name, number), None, "CVAT")
        for shape in (shape for shape in shapes if shape.tag == "box"):
            try:
                corners = [float(shape.get(corner, "nan")) for corner in _CORNERS]
                size = [float(image.get(side, "0")) for side in ("width", "height")]
            except ValueError:
                source.error(f"a box of image {image.get('name')!r} has no numbers")
                continue
            builder.boxes.add(record, builder.label(shape.get("label", "")), corners, size)
    return builder.dataset()


FORMAT = Format("cvat", "CVAT for images: annotations.xml", _detect, _read)
