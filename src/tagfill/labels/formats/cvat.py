"""CVAT for images (XML): tags and shapes of every image, with the labels of the task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import defusedxml.ElementTree

from tagfill.errors import Problems, TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._text import head
from tagfill.labels.formats.base import Format, ReadOptions
from tagfill.labels.formats.voc_xml import BROKEN
from tagfill.labels.table import POSITIVE

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_FILE = "annotations.xml"
_CORNERS = ("xtl", "ytl", "xbr", "ybr")


def _file(path: Path) -> Path:
    return path / _FILE if path.is_dir() else path


def _detect(path: Path) -> bool:
    text = head(_file(path)).lstrip()
    return text.startswith("<") and "<annotations" in text[:2000] and "<image " in text


def _read(path: Path, options: ReadOptions, problems: Problems) -> Dataset:
    file = _file(path)
    try:
        root = defusedxml.ElementTree.parse(file).getroot()
    except BROKEN as error:
        raise TagfillError(f"not readable as CVAT annotations ({error})", file=file) from None
    builder = LabelBuilder(file, options, problems, FORMAT.default_absent)
    names = [label.findtext("name") or "" for label in root.iterfind(".//labels/label")]
    builder.declare(dict.fromkeys(name for name in names if name.strip()))
    for number, image in enumerate(root.iterfind("image"), 1):
        record = builder.record(image.get("name", ""), number)
        builder.split(record, image.get("subset", ""), number)
        shapes = [shape for shape in image if shape.get("label")]
        for name in dict.fromkeys(shape.get("label", "") for shape in shapes):
            builder.mark(record, builder.label(name, number), POSITIVE, number)
        for shape in shapes:
            _add_box(record, shape, image, builder)
    return builder.dataset(FORMAT.name)


def _add_box(record: int, shape: Element, image: Element, builder: LabelBuilder) -> None:
    if shape.tag != "box":
        return
    try:
        corners = [float(shape.get(corner, "nan")) for corner in _CORNERS]
        size = [float(image.get(side, "0")) for side in ("width", "height")]
    except ValueError:
        builder.problems.error(
            f"a box of image {image.get('name')!r} has no numbers", file=builder.source
        )
        return
    builder.boxes.add(record, builder.label(shape.get("label", "")), corners, size)


FORMAT = Format(
    name="cvat",
    title="CVAT for images: annotations.xml",
    detect=_detect,
    read=_read,
    default_absent="unknown",
)
