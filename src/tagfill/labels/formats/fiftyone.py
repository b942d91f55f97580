"""FiftyOne data sets exported to disk: ``samples.json`` beside ``metadata.json``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._json_values import (
    load_json,
    mapped,
    objects,
    texts,
)
from tagfill.labels.formats._merge import SPLITS, usual_split
from tagfill.labels.formats.base import Format, Source

_SAMPLES, _METADATA = "samples.json", "metadata.json"
REJECTED = "rejected"
"""The field in which tags that are not there are written."""
_LISTS = ("classifications", "detections", "polylines")


def _detect(path: Path) -> bool:
    return (path / _SAMPLES).is_file() and (path / _METADATA).is_file()


def _read(source: Source) -> Dataset:
    file = source.path / _SAMPLES
    if not file.is_file():
        raise source.refusal(f"it has no {_SAMPLES}")
    return read_samples(objects(mapped(load_json(file)).get("samples")), source)


def read_samples(
    samples: Iterable[Mapping[str, Any]], source: Source, fields: Collection[str] | None = None
) -> Dataset:
    """The data set of FiftyOne samples as JSON objects.

    Args:
        samples: the objects.
        source: where they come from.
        fields: the fields to read; all by default.
    """
    builder = LabelBuilder(source)
    proposed = 0
    for number, sample in enumerate(samples, 1):
        place = sample.get("filepath")
        record = builder.record(place if isinstance(place, str) else "", number)
        for tag in texts(sample.get("tags")):
            if usual_split(tag) in SPLITS:
                builder.split(record, tag, number)
        stated: dict[str, None] = {}
        for field, name, confidence in _labels(sample, fields):
            if field == REJECTED:
                builder.negative(record, name, number)
            elif confidence is None:
                stated[name] = None
            else:
                builder.suggest(record, builder.label(name, number), confidence, field)
                proposed += 1
        builder.tags(record, stated, number)
    builder.notes.append("sample tags are read as splits, labels of all fields as classes")
    if proposed:
        builder.notes.append(
            f"{proposed:,} labels have a confidence: they are a model's and were read as"
            " suggestions"
        )
    return builder.dataset()


def _labels(
    sample: Mapping[str, Any], fields: Collection[str] | None
) -> Iterator[tuple[str, str, float | None]]:
    """The labels of a sample: field, name, and confidence where a model gave one."""
    for name, value in sample.items():
        if fields is not None and name not in fields:
            continue
        field = mapped(value)
        entries = [entry for key in _LISTS for entry in objects(field.get(key))]
        for entry in (field, *entries):
            label, confidence = entry.get("label"), entry.get("confidence")
            if isinstance(label, str) and label.strip():
                sure = isinstance(confidence, int | float) and 0 <= confidence <= 1
                yield name, label.strip(), confidence if sure else None


FORMAT = Format("fiftyone", "FiftyOne data set exported to disk", _detect, _read)
