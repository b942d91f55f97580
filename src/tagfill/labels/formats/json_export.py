"""JSON exports of annotation programs, and tables as JSON.

What they say of each image becomes a plain record: ``file_name`` and ``tags``, or ``positives`` and
``negatives``, as ``jsonl`` has.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._json import LISTS, read_lines, wrapped_list
from tagfill.labels.formats._json_values import (
    first_value,
    json_values,
    listed,
    load_json,
    mapped,
    objects,
    records_under,
    texts,
)
from tagfill.labels.formats._names import is_image_name, names_tags
from tagfill.labels.formats._tags import tag_name
from tagfill.labels.formats._text import head, read_text
from tagfill.labels.formats._ticks import is_image
from tagfill.labels.formats.base import Format, Source
from tagfill.labels.formats.label_studio import STUDIO

Record = Mapping[str, Any]

_ANSWERS = ("accept", "reject", "ignore")
_SHAPES = (
    *("annotations", "annotation", "objects", "instances", "shapes", "regions", "detections"),
    "classificationAnnotations",
)
"""Keys with a list of things in an image, each with its name."""
_BESIDE = ("tags", "labels")
"""Keys that such a record may have besides, with more of them."""
_MOST_BYTES = 1 << 25
"""A larger object is a table of another format."""
_CHOICES = ("radio_answer", "checklist_answers", "answer", "answers")
"""Keys with the options that were chosen."""


def plain_record(record: Record) -> Record | None:
    """What a record of a known program says; ``None`` for any other record."""
    for needed, read in _PROGRAMS:
        if needed <= record.keys():
            plain = read(record)
            if plain is not None:
                return plain
    return None


def plain_records(document: Any) -> list[Any]:
    """The plain records of a document that is a table of some kind; empty for any other."""
    if isinstance(document, list):
        pairs = [item for item in document if isinstance(item, list) and len(item) == 2]
        if len(pairs) < len(document) or not all(_is_image(image) for image, _ in pairs):
            return []
        return [{"file_name": image, "tags": tags} for image, tags in pairs]
    content = mapped(document)
    return next((found for read in _TABLES if (found := read(content))), [])


def is_export(record: Any) -> bool:
    """Whether a value is a record of an annotation program."""
    return isinstance(record, dict) and plain_record(record) is not None


def _is_image(value: Any) -> bool:
    return isinstance(value, str) and is_image(value)


def _named(things: Any) -> list[str]:
    return [name for thing in objects(things) if (name := tag_name(thing))]


def _prodigy(record: Record) -> Record | None:
    if record["answer"] not in _ANSWERS or not record.keys() & {"options", "spans", "label"}:
        return None
    options = {
        str(item.get("id")): str(item.get("text")) for item in objects(record.get("options"))
    }
    chosen = [options.get(str(name), str(name)) for name in listed(record.get("accept"))]
    chosen += [*_named(record.get("spans")), *texts([record.get("label")])]
    named = [record.get(key) for key in ("path", "image", "text")]
    places = [*named[:1], mapped(record.get("meta")).get("file"), *named[1:]]
    image = next((place for place in places if _is_image(place)), record.get("image"))
    plain: dict[str, Any] = {"file_name": image, "positives": [], "negatives": []}
    if options:
        plain["classes"] = list(options.values())
    if record["answer"] != "ignore":
        yes = record["answer"] == "accept"
        plain["positives" if yes else "negatives"] = chosen
    return plain


def _labelbox(record: Record) -> Record:
    row = mapped(record["data_row"])
    labels = [
        label
        for project in mapped(record["projects"]).values()
        for label in objects(mapped(project).get("labels"))
    ]
    tags = [tag for label in labels for tag in _labelbox_names(mapped(label.get("annotations")))]
    return {"file_name": row.get("external_id") or row.get("row_data"), "tags": tags}


def _old_labelbox(record: Record) -> Record:
    image = record.get("External ID") or record["Labeled Data"]
    return {"file_name": image, "tags": list(_labelbox_names(mapped(record["Label"])))}


def _labelbox_names(label: Record) -> Iterator[str]:
    """Names of objects, and of chosen options, also those of objects and below other options."""
    yield from _named(label.get("objects"))
    for thing in (*objects(label.get("objects")), *objects(label.get("classifications"))):
        for key in _CHOICES:
            answers = objects(thing.get(key)) or objects([thing.get(key)])
            yield from _named(answers)
            for answer in answers:
                yield from _labelbox_names(answer)
        yield from _labelbox_names({"classifications": thing.get("classifications")})


def _superannotate(record: Record) -> Record:
    tags = [*_named(record["instances"]), *texts(record.get("tags"))]
    return {"file_name": mapped(record["metadata"]).get("name"), "tags": tags}


def _scale(record: Record) -> Record:
    tags = _named(mapped(record["response"]).get("annotations"))
    return {"file_name": mapped(record["params"]).get("attachment"), "tags": tags}


def _darwin(record: Record) -> Record:
    return {"file_name": mapped(record["item"]).get("name"), "tags": _named(record["annotations"])}


def _sagemaker(record: Record) -> Record | None:
    """A line of a manifest: numbers of classes, and their names in the metadata.

    What nobody annotated keeps a score, by which readers know it for a guess.
    """
    for key, value in record.items():
        said = mapped(record.get(f"{key}-metadata"))
        names = mapped(said.get("class-map"))
        tags: list[Any] = [str(names.get(str(number), number)) for number in listed(value)]
        tags = tags if names else texts([said.get("class-name")])
        if names or tags:
            if said.get("human-annotated") == "no":
                tags = [{"name": name, "score": said.get("confidence", 0.5)} for name in tags]
            return {"file_name": record["source-ref"], "tags": tags}
    return None


def _things(value: Any) -> list[Any] | None:
    """A list of things, or the list of their names, as Hugging Face has it beside their boxes."""
    lists = [value, *(items for key, items in mapped(value).items() if names_tags(key))]
    return next((items for items in lists if isinstance(items, list)), None)


def _shapes(record: Record) -> Record | None:
    """Any record with an image and lists of things in it."""
    images = [record[key] for key in record if is_image_name(key) and isinstance(record[key], str)]
    images += [value for value in record.values() if _is_image(value)]
    found = [things for key in _SHAPES if (things := _things(record.get(key))) is not None]
    things = [item for items in found for item in items]
    told = any(names_tags(key) or key in LISTS for key in record if key not in _BESIDE)
    told = told or any(isinstance(record.get(key), dict) for key in _BESIDE)
    if not images or told or not found:
        return None
    things += [item for key in _BESIDE for item in listed(record.get(key))]
    return {"file_name": images[0], "tags": things} if all(map(tag_name, things)) else None


_PROGRAMS: tuple[tuple[frozenset[str], Callable[[Record], Record | None]], ...] = (
    (frozenset(["answer"]), _prodigy),
    (frozenset(["data_row", "projects"]), _labelbox),
    (frozenset(["Labeled Data", "Label"]), _old_labelbox),
    (frozenset(["metadata", "instances"]), _superannotate),
    (frozenset(["params", "response"]), _scale),
    (frozenset(["item", "annotations"]), _darwin),
    (frozenset(["source-ref"]), _sagemaker),
    (frozenset(), _shapes),
)
"""The keys by which the records of programs are known."""


def _by_columns(content: Record) -> list[Record]:
    """Lists side by side, or objects with the numbers of rows, as pandas writes them."""
    columns = {
        key: list(value.values()) if isinstance(value, dict) else value
        for key, value in content.items()
    }
    lengths = {len(value) if isinstance(value, list) else -1 for value in columns.values()}
    if len(columns) < 2 or len(lengths) != 1 or -1 in lengths:
        return []
    images = [key for key in columns if is_image_name(key) and all(map(_is_image, columns[key]))]
    if not images:
        return []
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _wrapped(content: Record) -> list[Record]:
    for key, value in content.items():
        records = objects(value)
        tagged = any(map(names_tags, (records or [{}])[0]))
        imaged = records and any(_is_image(field) for field in records[0].values())
        if imaged and len(records) == len(value) and (tagged or plain_record(records[0])):
            return records_under(content, key)
    return []


def _split(content: Record) -> list[Record]:
    """What ``DataFrame.to_json(orient="split")`` writes."""
    names, rows = texts(content.get("columns")), listed(content.get("data"))
    fits = names and all(isinstance(row, list) and len(row) == len(names) for row in rows)
    return [dict(zip(names, row, strict=True)) for row in rows] if fits else []


def _by_tag(content: Record) -> list[Record]:
    if not content or not all(
        isinstance(images, list) and all(map(_is_image, images)) for images in content.values()
    ):
        return []
    tags: dict[str, list[str]] = {}
    for tag, images in content.items():
        for image in images:
            tags.setdefault(image, []).append(tag)
    return [{"file_name": image, "tags": named} for image, named in tags.items()]


def _datumaro(content: Record) -> list[Record]:
    """Items with numbers of labels, as CVAT exports them."""
    categories = mapped(mapped(content.get("categories")).get("label"))
    names = [item.get("name") for item in objects(categories.get("labels"))]
    return [
        {
            "file_name": mapped(item.get("image")).get("path") or item.get("id"),
            "tags": list(
                dict.fromkeys(
                    names[number]
                    for entry in objects(item.get("annotations"))
                    if isinstance(number := entry.get("label_id"), int) and 0 <= number < len(names)
                )
            ),
        }
        for item in objects(content.get("items") if names else None)
    ]


_TABLES: Sequence[Callable[[Record], list[Record]]] = (
    *(_split, _by_columns, _by_tag, _datumaro),
    _wrapped,
)


def _detect(path: Path) -> bool:
    text = head(path).lstrip()
    if text[:1] not in ("[", "{") or STUDIO.search(text) or wrapped_list(text):
        return False
    first = first_value(text)
    if isinstance(first, list) or is_export(first):
        return is_export(first) or bool(plain_records([first]))
    try:
        is_small_object = text.startswith("{") and path.stat().st_size < _MOST_BYTES
        return is_small_object and bool(plain_records(json.loads(read_text(path))))
    except (ValueError, RecursionError):
        return False


def _read(source: Source) -> Dataset:
    path, text = source.path, read_text(source.path)
    if text.lstrip().startswith("["):
        document = load_json(path)
        lines = list(enumerate(plain_records(document) or document, 1))
    else:
        lines = list(json_values(text, path))
        table = plain_records(lines[0][1]) if len(lines) == 1 else []
        lines = list(enumerate(table, 1)) or lines
    plain = [(row, plain_record(mapped(record)) or record) for row, record in lines]
    return read_lines(source, plain)


FORMAT = Format(
    "json_export",
    "JSON of Prodigy, Labelbox, SuperAnnotate, Scale, CreateML and others",
    _detect,
    _read,
)
