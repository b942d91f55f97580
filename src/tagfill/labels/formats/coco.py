"""COCO instances: an image has the classes of its boxes; boxes are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tagfill.errors import Problems, TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._gather import Gather
from tagfill.labels.formats._ids import is_text
from tagfill.labels.formats._json import listed, load_json, number, objects
from tagfill.labels.formats._text import head
from tagfill.labels.formats._ticks import quoted
from tagfill.labels.formats.base import Format, ReadOptions
from tagfill.labels.formats.jsonl import wrapped_list
from tagfill.labels.table import POSITIVE

_KEYS = ("images", "annotations", "categories")
_KEY = re.compile(rf'"({"|".join(_KEYS)})"\s*:\s*\[')

Item = Mapping[str, Any]


def _detect(path: Path) -> bool:
    text = head(path).lstrip()
    lists = {match[1] for match in _KEY.finditer(text)}
    return text.startswith("{") and wrapped_list(text) is None and lists > {"annotations"}


def _read(path: Path, options: ReadOptions, problems: Problems) -> Dataset:
    content = load_json(path)
    images, annotations, categories = (_list(content, key, path) for key in _KEYS)
    gather = Gather(path, options, problems, FORMAT.default_absent)
    label_of = _labels(categories, gather)
    record_of = _records(images, gather)
    sizes = {
        _identity(image): (number(image.get("width")) or 0, number(image.get("height")) or 0)
        for image in images
    }
    positives: set[tuple[int, int]] = set()
    for place, annotation in enumerate(_with_segments(annotations)):
        image = _identity(annotation, "image_id")
        category = _identity(annotation, "category_id")
        if image not in record_of or category not in label_of:
            missing = f"image {image}" if image not in record_of else f"category {category}"
            problems.error(f"annotations[{place}] refers to {missing}, not listed", file=path)
            continue
        record, label = record_of[image], label_of[category]
        if label is not None:
            positives.add((record, label))
        box = [number(side) for side in listed(annotation.get("bbox"))]
        if annotation.get("bbox") and (len(box) != 4 or None in box):
            shown = quoted(annotation["bbox"])
            problems.error(f"annotations[{place}] has the bbox {shown}", file=path)
        elif box:
            left, top, width, height = (side or 0.0 for side in box)
            gather.boxes.add(record, label, (left, top, left + width, top + height), sizes[image])
    for record, label in sorted(positives):
        gather.mark(record, label, POSITIVE)
    bare = len(gather) - len({record for record, _ in positives})
    gather.notes += [f"{bare} images have no annotation"] if bare else []
    return gather.dataset(FORMAT.name)


def _with_segments(annotations: Sequence[Item]) -> Iterator[Item]:
    """Annotations, each of panoptic files and of several categories as several."""
    for annotation in annotations:
        parts = objects(annotation.get("segments_info"))
        parts += [{"category_id": category} for category in listed(annotation.get("category_ids"))]
        yield from ({**part, "image_id": annotation.get("image_id")} for part in parts)
        if not parts:
            yield annotation


def _identity(item: Item, key: str = "id") -> str:
    """An id as text: files use numbers, texts, or both for the same object."""
    value = item.get(key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    plain = isinstance(value, int) or (isinstance(value, str) and is_text(value))
    return str(value) if plain else quoted(value)


def _labels(categories: Sequence[Item], gather: Gather) -> dict[str, int | None]:
    label_of: dict[str, int | None] = {}
    named: dict[str, str] = {}
    for place, category in enumerate(categories):
        name, identity = category.get("name"), _identity(category)
        if not isinstance(name, str):
            gather.problems.error(
                f"categories[{place}] has the name {quoted(name)}, which is not text",
                file=gather.source,
            )
            label_of[identity] = None
            continue
        if name in named:
            gather.problems.error(
                f"categories {named[name]} and {identity} are both called {quoted(name)}",
                file=gather.source,
            )
        if identity in label_of:
            gather.problems.error(
                f"categories[{place}] repeats the id {identity}", file=gather.source
            )
        named[name] = identity
        label_of[identity] = gather.label(name)
    return label_of


def _records(images: Sequence[Item], gather: Gather) -> dict[str, int]:
    record_of: dict[str, int] = {}
    for place, image in enumerate(images, 1):
        name, identity = image.get("file_name"), _identity(image)
        if not isinstance(name, str):
            gather.problems.error("the image has no file_name", file=gather.source, row=place)
            continue
        if identity in record_of:
            gather.problems.error(f"image id {identity} is repeated", file=gather.source, row=place)
        record_of[identity] = gather.record(name, place)
    return record_of


def _list(content: Any, key: str, path: Path) -> Sequence[Item]:
    items = content.get(key) if isinstance(content, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise TagfillError(f"there is no list of objects in {key!r}", file=path)
    return items


FORMAT = Format(
    name="coco",
    title="COCO instances json",
    detect=_detect,
    read=_read,
    default_absent="negative",
)
