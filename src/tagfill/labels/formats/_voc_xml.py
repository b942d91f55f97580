"""Annotation files of PASCAL VOC: the objects in an image."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import defusedxml
import defusedxml.ElementTree

from tagfill.errors import Problems
from tagfill.labels.table import POSITIVE

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

BROKEN = (
    defusedxml.ElementTree.ParseError,
    defusedxml.DefusedXmlException,
    ValueError,
    LookupError,  # an encoding nobody knows
)
_CORNERS = ("xmin", "ymin", "xmax", "ymax")


@dataclass(frozen=True)
class Item:
    """One object: class, corners in pixels, whether it is marked difficult."""

    name: str
    corners: tuple[float, ...]
    difficult: bool


@dataclass(frozen=True)
class Scene:
    """One annotation file: image width and height in pixels, and the objects."""

    size: tuple[float, float]
    objects: tuple[Item, ...]

    def codes(self, difficult: int) -> dict[str, int]:
        """Label of every class seen: positive, or ``difficult`` where all its objects are."""
        easy = {item.name for item in self.objects if not item.difficult}
        return {item.name: POSITIVE if item.name in easy else difficult for item in self.objects}


def read_scene(file: Path, problems: Problems) -> Scene | None:
    """Read one annotation file; ``None`` (and an error) if it is broken."""
    try:
        root = defusedxml.ElementTree.parse(file).getroot()
        size = (_number(root, "size/width"), _number(root, "size/height"))
        return Scene(size, tuple(_item(thing) for thing in root.iter("object")))
    except BROKEN as error:
        problems.error(f"not readable as a VOC annotation ({error})", file=file)
        return None


def _item(element: Element) -> Item:
    name = (element.findtext("name") or "").strip()
    if not name:
        raise ValueError("an object has no name")
    corners = tuple(_number(element, f"bndbox/{corner}") for corner in _CORNERS)
    # Pixels count from 1 in VOC, and the last one belongs to the box.
    left, top, right, bottom = corners
    return Item(name, (left - 1, top - 1, right, bottom), _number(element, "difficult") != 0)


def _number(element: Element, path: str) -> float:
    number = float(element.findtext(path) or 0)
    if not math.isfinite(number):
        raise ValueError(f"{path} is not a number")
    return number
