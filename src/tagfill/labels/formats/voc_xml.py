"""Annotation files in the XML of PASCAL VOC, beside the images or in a folder of their own.

LabelImg, Roboflow and others write them without the lists of a devkit. An annotated image shows no
other classes; of an image without annotation nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import defusedxml
import defusedxml.ElementTree

from tagfill.errors import Problems, TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._folders import folders_below, labeled_images, split_of
from tagfill.labels.formats._text import head
from tagfill.labels.formats.base import Difficult, Format, ReadOptions
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

BROKEN = (
    defusedxml.ElementTree.ParseError,
    defusedxml.DefusedXmlException,
    ValueError,
    LookupError,  # an encoding nobody knows
)
DIFFICULT: dict[Difficult, int] = {
    "negative": NEGATIVE,
    "positive": POSITIVE,
    "unknown": UNKNOWN,
}
"""The label of a class with no objects but difficult ones."""
_LOOKED_AT = 5
_CORNERS = ("xmin", "ymin", "xmax", "ymax")


@dataclass(frozen=True)
class AnnotatedObject:
    """One object: class, corners in pixels, whether it is marked difficult."""

    name: str
    corners: tuple[float, ...]
    difficult: bool


@dataclass(frozen=True)
class Annotation:
    """One annotation file: name of the image, its width and height in pixels, and the objects."""

    image: str
    size: tuple[float, float]
    objects: tuple[AnnotatedObject, ...]

    def codes(self, difficult: int) -> dict[str, int]:
        """Label of every class seen: positive, or ``difficult`` where all its objects are."""
        easy = {item.name for item in self.objects if not item.difficult}
        return {item.name: POSITIVE if item.name in easy else difficult for item in self.objects}


def read_annotation(file: Path, problems: Problems) -> Annotation | None:
    """Read one annotation file; ``None`` (and an error) if it is broken."""
    try:
        root = defusedxml.ElementTree.parse(file).getroot()
        size = (_number(root, "size/width"), _number(root, "size/height"))
        name = (root.findtext("filename") or "").strip()
        return Annotation(name, size, tuple(_item(thing) for thing in root.iter("object")))
    except BROKEN as error:
        problems.error(f"not readable as a VOC annotation ({error})", file=file)
        return None


def _item(element: Element) -> AnnotatedObject:
    name = (element.findtext("name") or "").strip()
    if not name:
        raise ValueError("an object has no name")
    corners = tuple(_number(element, f"bndbox/{corner}") for corner in _CORNERS)
    # Pixels count from 1 in VOC, and the last one belongs to the box.
    left, top, right, bottom = corners
    return AnnotatedObject(
        name, (left - 1, top - 1, right, bottom), _number(element, "difficult") != 0
    )


def _number(element: Element, path: str) -> float:
    number = float(element.findtext(path) or 0)
    if not math.isfinite(number):
        raise ValueError(f"{path} is not a number")
    return number


def _files(path: Path) -> Iterator[PurePosixPath]:
    for folder, names in folders_below(path):
        yield from (folder / name for name in names if name.lower().endswith(".xml"))


def _detect(path: Path) -> bool:
    if path.is_file():
        return path.suffix.lower() == ".xml" and _is_annotation(path)
    files = [path / file for file in islice(_files(path), _LOOKED_AT)] if path.is_dir() else []
    return bool(files) and all(map(_is_annotation, files)) and not _in_devkit(files[0])


def _in_devkit(file: Path) -> bool:
    home = file.parent.parent
    lists = (home / "ImageSets").is_dir() or (home / "JPEGImages").is_dir()
    return file.parent.name == "Annotations" and lists


def _is_annotation(file: Path) -> bool:
    text = head(file)[:2000]
    return "<annotation" in text and "<annotations" not in text


def _read(path: Path, options: ReadOptions, problems: Problems) -> Dataset:
    folder = path if path.is_dir() else path.parent
    images = _images(path, folder)
    if not images:
        raise TagfillError("it has no annotation files", file=path)
    difficult = DIFFICULT[options.difficult]
    builder = LabelBuilder(path, replace(options, absent=None), problems)
    bare: list[int] = []
    for image, file in images.items():
        annotation = None if file is None else read_annotation(file, problems)
        name = (
            annotation.image if annotation and not image.suffix and annotation.image else str(image)
        )
        record = builder.record(name)
        builder.split(record, split_of(image))
        if annotation is None:
            bare.append(record)
            continue
        for name, value in annotation.codes(difficult).items():
            builder.mark(record, builder.label(name), value)
        for item in annotation.objects:
            if not item.difficult or difficult == POSITIVE:
                builder.boxes.add(record, builder.label(item.name), item.corners, annotation.size)
    builder.close_world(options.absent or "negative", except_for=bare)
    return builder.dataset(FORMAT.name, folder if path.is_dir() else None)


def _images(path: Path, folder: Path) -> dict[PurePosixPath, Path | None]:
    """All images with their annotations; of annotations without image, the name without suffix."""
    if path.is_file():
        return {PurePosixPath(path.stem): path}
    images = dict(labeled_images(folder, [".xml", ".XML"]))
    known = set(images.values())
    for file in _files(folder):
        if folder / file not in known:
            images[file.with_suffix("")] = folder / file
    return images


FORMAT = Format(
    name="voc_xml",
    title="folder of PASCAL VOC annotation files (XML), without a devkit",
    detect=_detect,
    read=_read,
    default_absent="negative",
)
