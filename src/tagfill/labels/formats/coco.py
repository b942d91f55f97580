"""COCO instances: an image has the classes of its boxes; the boxes come along."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tagfill.errors import Problems, TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._boxes import BoxList
from tagfill.labels.formats._gather import Gather
from tagfill.labels.formats._json import load_json
from tagfill.labels.formats._text import head
from tagfill.labels.formats.base import Format, ReadOptions
from tagfill.labels.table import POSITIVE

_KEYS = ("images", "annotations", "categories")
_KEY = re.compile(rf'"({"|".join(_KEYS)})"\s*:\s*\[')


def _detect(path: Path) -> bool:
    text = head(path).lstrip()
    return text.startswith("{") and _KEY.search(text) is not None


def _read(path: Path, options: ReadOptions, problems: Problems) -> Dataset:
    content = load_json(path)
    images, annotations, categories = (_list(content, key, path) for key in _KEYS)
    gather = Gather(path, options, problems, FORMAT.default_absent)
    label_of = _labels(categories, gather)
    record_of = _records(images, gather)
    sizes = {image.get("id"): (_size(image, "width"), _size(image, "height")) for image in images}
    boxes = BoxList()
    positives: set[tuple[int, int]] = set()
    for number, annotation in enumerate(annotations):
        image, category = annotation.get("image_id"), annotation.get("category_id")
        if image not in record_of or category not in label_of:
            missing = f"image {image}" if image not in record_of else f"category {category}"
            problems.error(f"annotations[{number}] refers to {missing}, not listed", file=path)
            continue
        record, label = record_of[image], label_of[category]
        if label is not None:
            positives.add((record, label))
        box = annotation.get("bbox")
        if box and not _is_box(box):
            problems.error(f"annotations[{number}] has the bbox {box!r}", file=path)
        elif box:
            left, top, width, height = box
            boxes.add(record, label, (left, top, left + width, top + height), sizes[image])
    for record, label in sorted(positives):
        gather.mark(record, label, POSITIVE)
    bare = len(gather) - len({record for record, _ in positives})
    gather.notes += [f"{bare} images have no annotation"] if bare else []
    gather.notes += boxes.notes
    dataset = gather.dataset(FORMAT.name)
    return replace(dataset, boxes=boxes.boxes(gather.place))


def _labels(categories: Sequence[Mapping[str, Any]], gather: Gather) -> dict[Any, int | None]:
    label_of: dict[Any, int | None] = {}
    named: dict[str, Any] = {}
    for number, category in enumerate(categories):
        name, identity = str(category.get("name") or ""), category.get("id")
        if name in named:
            gather.problems.error(
                f"categories {named[name]} and {identity} are both called {name!r}",
                file=gather.source,
            )
        if identity in label_of:
            gather.problems.error(
                f"categories[{number}] repeats the id {identity!r}", file=gather.source
            )
        named[name] = identity
        label_of[identity] = gather.label(name)
    return label_of


def _records(images: Sequence[Mapping[str, Any]], gather: Gather) -> dict[Any, int]:
    record_of: dict[Any, int] = {}
    for number, image in enumerate(images, 1):
        name, identity = image.get("file_name"), image.get("id")
        if not isinstance(name, str):
            gather.problems.error("the image has no file_name", file=gather.source, row=number)
            continue
        if identity in record_of:
            gather.problems.error(
                f"image id {identity!r} is repeated", file=gather.source, row=number
            )
        record_of[identity] = gather.record(name, number)
    return record_of


def _size(image: Mapping[str, Any], side: str) -> float:
    size = image.get(side)
    return float(size) if isinstance(size, int | float) else 0.0


def _is_box(box: Any) -> bool:
    return (
        isinstance(box, list)
        and len(box) == 4
        and all(isinstance(number, int | float) for number in box)
    )


def _list(content: Any, key: str, path: Path) -> Sequence[Mapping[str, Any]]:
    found = content.get(key) if isinstance(content, dict) else None
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise TagfillError(f"there is no list of objects under {key!r}", file=path)
    return found


FORMAT = Format(
    name="coco",
    title="COCO instances json",
    detect=_detect,
    read=_read,
    default_absent="negative",
)
