"""Photos' own keywords: XMP, IPTC and EXIF inside the files, XMP in sidecars beside them.

Tags that a model suggested are read as suggestions, tags that a person rejected as negatives.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from tagfill.image_files import is_image_file, walk_folders
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._ids import is_text
from tagfill.labels.formats._splitter import Splitter, marks_between
from tagfill.labels.formats._tags import has_separator
from tagfill.labels.formats.base import Format, Source
from tagfill.labels.photos import Photo, read_photo
from tagfill.labels.table import LabelTable

_LOOKED_AT = 300
_AT_ONCE = 64
"""Photos that a thread reads at a time."""
_TAGGED_AMONG_FOLDERS = 0.1
"""From this share of photos with keywords, folders are not class folders."""

Listed = tuple[Path, str, set[str]]
"""A folder, the name of a photo in it, and all names in it."""


def _detect(path: Path) -> bool:
    if not path.is_dir():
        return False
    photos = list(islice(_photos(path), _LOOKED_AT))
    tagged = sum(read_photo(place / name, names).has_keywords for place, name, names in photos)
    nested = any(place != path for place, _, _ in photos)
    return tagged > (_TAGGED_AMONG_FOLDERS * len(photos) if nested else 0)


def _photos(path: Path) -> Iterator[Listed]:
    for place, _, names in walk_folders(path):
        siblings = set(names)
        for name in names:
            if is_image_file(name) and is_text(name):
                yield place, name, siblings


def _read(source: Source) -> Dataset:
    path = source.path
    if not path.is_dir():
        raise source.refusal("expected a folder of photos")
    listed = list(_photos(path))
    photos = _read_photos(listed)
    if not any(photo.has_keywords for photo in photos):
        raise source.refusal(
            f"none of the {len(photos):,} photos has keywords",
            remedy="tag some first, or give a label file",
        )
    builder = LabelBuilder(source, free_tags=True)
    splitter = None
    if source.options.separator is not None:
        splitter = Splitter(source.options.separator)
    elif marks_between((tag for photo in photos for tag in photo.tags), ";,"):
        splitter = Splitter()
    for (place, name, _), photo in zip(listed, photos, strict=True):
        record = builder.record((place / name).relative_to(path).as_posix())
        tags = [splitter.split(tag) if splitter else [tag] for tag in photo.tags]
        builder.tags(record, dict.fromkeys(name for names in tags for name in names))
        for tag_path in photo.paths:
            builder.paths.add(record, tag_path)
        for name, mark in photo.suggested.items():
            origin = mark.origin or "tagfill"
            builder.suggest(record, builder.label(name), mark.confidence, origin)
        for name in photo.rejected:
            builder.negative(record, name)
    _report(listed, photos, builder, splitter)
    dataset = builder.dataset(path)
    return replace(dataset, table=_with_reviewed(photos, builder, dataset.table))


def _read_photos(listed: Sequence[Listed]) -> list[Photo]:
    """What the files say; a thread takes many at a time, as handing over one costs as much."""

    def read(first: int) -> list[Photo]:
        part = listed[first : first + _AT_ONCE]
        return [read_photo(place / name, names) for place, name, names in part]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [p for part in pool.map(read, range(0, len(listed), _AT_ONCE)) for p in part]


def _report(
    listed: Sequence[Listed],
    photos: Sequence[Photo],
    builder: LabelBuilder,
    splitter: Splitter | None,
) -> None:
    tagged = sum(photo.has_keywords for photo in photos)
    builder.notes.append(f"{tagged:,} of {len(photos):,} photos have keywords")
    joined = next((tag for photo in photos for tag in photo.tags if has_separator(tag, ",;")), None)
    if joined and splitter is None:
        builder.notes.append(
            f"keywords such as {joined!r} look like several: --separator splits them"
        )
    elif joined and builder.source.options.separator is None:
        builder.notes.append(f"keywords such as {joined!r} are several, judging by content")
    faulty = [(entry, photo) for entry, photo in zip(listed, photos, strict=True) if photo.faults]
    if faulty:
        (place, name, _), photo = faulty[0]
        builder.source.problems.warn(
            f"metadata of {len(faulty):,} photos could not all be read, first: {photo.faults[0]}",
            file=place / name,
        )


def _with_reviewed(photos: Sequence[Photo], builder: LabelBuilder, table: LabelTable) -> LabelTable:
    """The table with what people answered in a review, if they did."""
    column_of = {name: column for column, name in enumerate(table.classes)}
    answered = [
        (builder.place[record], column_of[name])
        for record, photo in enumerate(photos)
        for name in sorted(photo.rejected | photo.confirmed)
        if name in column_of
    ]
    if not answered:
        return table
    reviewed = np.zeros(table.values.shape, dtype=bool)
    reviewed[tuple(np.array(answered).T)] = True
    return replace(table, reviewed=reviewed)


FORMAT = Format("xmp", "photos with their own keywords: XMP, IPTC, EXIF, sidecars", _detect, _read)
