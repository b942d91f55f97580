"""COCO instances: an image has the classes of its boxes; boxes are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._ids import is_text
from tagfill.labels.formats._json import wrapped_list
from tagfill.labels.formats._json_values import (
    first_value,
    listed,
    load_json,
    mapped,
    number,
    objects,
    texts,
)
from tagfill.labels.formats._text import head
from tagfill.labels.formats._ticks import quoted
from tagfill.labels.formats.base import Format, Source
from tagfill.labels.formats.json_export import is_export, plain_records
from tagfill.labels.formats.label_studio import is_task
from tagfill.labels.table import NEGATIVE, POSITIVE

_KEYS = ("images", "annotations", "categories")
_KEY = re.compile(rf'"({"|".join(_KEYS)})"\s*:\s*\[')
_DENIED = "neg_category_ids"
"""Of LVIS: classes that somebody looked for in vain. What is in neither list is unknown."""
_OTHERS = re.compile(r'"(?:detection_)?categories"\s*:\s*\{')
"""What Datumaro and MegaDetector write."""

Item = Mapping[str, Any]


def _detect(path: Path) -> bool:
    text = head(path).lstrip()
    if not text.startswith("{") or not _KEY.search(text) or _OTHERS.search(text):
        return False
    first = first_value(text)
    is_other = wrapped_list(text) or is_task(text) or is_export(first) or plain_records(first)
    return not is_other and not texts(mapped(first).get("categories"))


def _read(source: Source) -> Dataset:
    content = mapped(load_json(source.path))
    for key in _KEYS:
        if not isinstance(content.get(key), list) or objects(content[key]) != content[key]:
            raise source.refusal(f"there is no list of objects in {key!r}")
    images, annotations, categories = (content[key] for key in _KEYS)
    _refuse_guesses(source, annotations)
    builder = LabelBuilder(source)
    label_of = _labels(categories, builder)
    record_of = _records(images, builder)
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
            source.error(f"annotations[{place}] refers to {missing}, not listed")
            continue
        record, label = record_of[image], label_of[category]
        if label is not None:
            positives.add((record, label))
        box = [number(side) for side in listed(annotation.get("bbox"))]
        if annotation.get("bbox") and (len(box) != 4 or None in box):
            source.error(f"annotations[{place}] has the bbox {quoted(annotation['bbox'])}")
        elif box:
            left, top, width, height = (side or 0.0 for side in box)
            builder.boxes.add(record, label, (left, top, left + width, top + height), sizes[image])
    for record, label in sorted(positives):
        builder.mark(record, label, POSITIVE)
    _deny(images, builder, record_of, label_of)
    if builder.classes and not annotations and source.options.absent is None:
        raise source.refusal(
            "'annotations' is empty, so nothing is known of its images",
            remedy="annotate some; if they show none of the classes, say --absent negative",
        )
    unlabeled = len(builder) - len({record for record, _ in positives})
    builder.notes += [f"{unlabeled} images have no annotation"] if unlabeled else []
    return builder.dataset()


def _refuse_guesses(source: Source, annotations: Sequence[Item]) -> None:
    """Refuse what a model found.

    Raises:
        TagfillError: annotations have scores.
    """
    for place, annotation in enumerate(annotations):
        if 0 < (score := number(annotation.get("score")) or 0) < 1:
            guess = f"annotations[{place}] has the score {score:g}: guesses are no labels"
            raise source.refusal(guess, remedy="keep what you trust, and leave out 'score'")


def _deny(
    images: Sequence[Item],
    builder: LabelBuilder,
    record_of: Mapping[str, int],
    label_of: Mapping[str, int | None],
) -> None:
    """State the classes that LVIS lists as absent; all others are then unknown by default."""
    denied = [(image, listed(image[_DENIED])) for image in images if _DENIED in image]
    if not denied:
        return
    builder.absent = builder.source.options.absent or "unknown"
    for image, categories in denied:
        for category in categories:
            label = label_of.get(_identity({"id": category}))
            builder.mark(record_of[_identity(image)], label, NEGATIVE)


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


def _labels(categories: Sequence[Item], builder: LabelBuilder) -> dict[str, int | None]:
    label_of: dict[str, int | None] = {}
    named: dict[str, str] = {}
    for place, category in enumerate(categories):
        name, identity = category.get("name"), _identity(category)
        if not isinstance(name, str):
            builder.source.error(
                f"categories[{place}] has the name {quoted(name)}, which is not text"
            )
            label_of[identity] = None
            continue
        if name in named:
            both = f"categories {named[name]} and {identity}"
            builder.source.error(f"{both} are both called {quoted(name)}")
        if identity in label_of:
            builder.source.error(f"categories[{place}] repeats the id {identity}")
        named[name] = identity
        label_of[identity] = builder.label(name)
    return label_of


def _from_address(image: Item) -> str | None:
    """The file in an image's ``coco_url``, as LVIS names it, with its folder."""
    address = image.get("coco_url")
    return "/".join(address.split("/")[-2:]) if isinstance(address, str) else None


def _records(images: Sequence[Item], builder: LabelBuilder) -> dict[str, int]:
    record_of: dict[str, int] = {}
    for place, image in enumerate(images, 1):
        name, identity = image.get("file_name") or _from_address(image), _identity(image)
        if not isinstance(name, str):
            builder.source.error("the image has no file_name", place)
            continue
        if identity in record_of:
            builder.source.error(f"image id {identity} is repeated", place)
        record_of[identity] = builder.record(name, place)
    return record_of


FORMAT = Format("coco", "COCO instances json", _detect, _read, default_absent="negative")
