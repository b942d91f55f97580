"""The photos of a server: names, files, original labels, and pictures for the browser."""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path

import numpy as np
from PIL import Image

from tagfill.arrays import Mask
from tagfill.errors import TagfillError
from tagfill.images import open_image
from tagfill.labels import UNKNOWN, Dataset, Labels, LabelTable, Rows
from tagfill.train.data import TrainingData

CACHE_BYTES = 128_000_000
_QUALITY = 85


@dataclass(frozen=True, eq=False)
class Library:
    """All photos of a run in any split; a photo is identified by its row.

    Args:
        table: the labels as their owner wrote them.
        truth: [N, K] the full labels behind masked ones, where a demo or study has them.
    """

    table: LabelTable
    paths: tuple[Path, ...]
    splits: Mapping[str, Rows]
    source: Path
    truth: Labels | None = None

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def split_of(self) -> tuple[str, ...]:
        names = [""] * len(self)
        for name, rows in self.splits.items():
            for row in rows.tolist():
                names[row] = name
        return tuple(names)

    @cached_property
    def held_out(self) -> Rows:
        """Photos no model was trained on."""
        rows = [self.splits[name] for name in ("val", "test") if name in self.splits]
        return np.concatenate(rows) if rows else np.arange(0)

    @cached_property
    def fully_labeled(self) -> Mask:
        """[N] whether the label file says yes or no to every tag of a photo."""
        return np.asarray((self.table.values != UNKNOWN).all(axis=1))

    def dataset(self, table: LabelTable) -> Dataset:
        """Labels of these photos, ready to be written."""
        return Dataset(table=table, source=self.source, format="csv_wide", splits=self.splits)


def library_of(data: TrainingData, source: Path) -> Library:
    """The photos and labels of a run; refused where it was trained on given features."""
    if any(split.paths is None for split in data.splits.values()):
        raise TagfillError(
            "the run was trained on given features: there are no photos to show",
            file=source,
            remedy="train on images, with --images",
        )
    tables = [split.table for split in data.splits.values()]
    ends = np.cumsum([0] + [len(table) for table in tables])
    truths = [split.truth for split in data.splits.values()]
    known = [truth for truth in truths if truth is not None]
    return Library(
        table=LabelTable(
            tuple(image for table in tables for image in table.images),
            data.classes,
            np.concatenate([table.values for table in tables]),
        ),
        paths=tuple(path for split in data.splits.values() for path in split.paths or ()),
        splits={
            name: np.arange(start, end)
            for name, start, end in zip(data.splits, ends[:-1], ends[1:], strict=True)
        },
        source=source,
        truth=np.concatenate(known) if len(known) == len(truths) else None,
    )


class Size(IntEnum):
    """Available longer sides, in pixels."""

    TINY = 160
    SMALL = 320
    MEDIUM = 640
    LARGE = 1600


class Pictures:
    """Encoded photos by row and size; the latest ones are kept in memory."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._kept: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def jpeg(self, row: int, size: int) -> bytes:
        """A photo whose longer side has at most ``size`` pixels."""
        key = row, size
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        encoded = encode(self.open(row, size), size)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = encoded
                self._bytes += len(encoded)
            while self._bytes > CACHE_BYTES:
                self._bytes -= len(self._kept.popitem(last=False)[1])
        return encoded

    def open(self, row: int, size: int | None = None) -> Image.Image:
        """The photo itself, upright RGB."""
        return open_image(self._paths[row], size)


def encode(image: Image.Image, size: int) -> bytes:
    """An image as JPEG without metadata, of limited size."""
    image.thumbnail((size, size), Image.Resampling.LANCZOS)
    stream = io.BytesIO()
    image.convert("RGB").save(stream, "JPEG", quality=_QUALITY)
    return stream.getvalue()
