"""FiftyOne data sets exported to disk: ``samples.json`` beside ``metadata.json``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tagfill.errors import Problems, TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._gather import Gather
from tagfill.labels.formats._json import load_json
from tagfill.labels.formats._json_types import mapped, objects, texts
from tagfill.labels.formats._merge import usual_split
from tagfill.labels.formats.base import Format, ReadOptions

_SAMPLES, _METADATA = "samples.json", "metadata.json"
_SPLITS = {"train", "val", "test"}
_LISTS = ("classifications", "detections", "polylines")


def _detect(path: Path) -> bool:
    return (path / _SAMPLES).is_file() and (path / _METADATA).is_file()


def _read(path: Path, options: ReadOptions, problems: Problems) -> Dataset:
    file = path / _SAMPLES
    if not file.is_file():
        raise TagfillError(f"there is no {_SAMPLES} in it", file=path)
    samples = objects(mapped(load_json(file)).get("samples"))
    gather = Gather(path, options, problems, FORMAT.default_absent)
    for number, sample in enumerate(samples, 1):
        place = sample.get("filepath")
        record = gather.record(place if isinstance(place, str) else "", number)
        for tag in texts(sample.get("tags")):
            if usual_split(tag) in _SPLITS:
                gather.split(record, tag, number)
        gather.tags(record, dict.fromkeys(_labels(sample)), number)
    gather.notes.append("sample tags are taken for splits, labels of all fields for classes")
    return gather.dataset(FORMAT.name)


def _labels(sample: Mapping[str, Any]) -> Iterator[str]:
    """The labels of all fields of a sample."""
    for value in sample.values():
        field = mapped(value)
        entries = [entry for key in _LISTS for entry in objects(field.get(key))]
        for entry in (field, *entries):
            label = entry.get("label")
            if isinstance(label, str) and label.strip():
                yield label.strip()


FORMAT = Format(
    name="fiftyone",
    title="FiftyOne data set exported to disk",
    detect=_detect,
    read=_read,
    default_absent="unknown",
)
