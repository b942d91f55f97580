"""Many scenes at once, without writing files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from PIL import Image

from tagfill.labels.dataset import Boxes
from tagfill.labels.table import LabelTable
from tagfill.scenes.catalog import CLASSES
from tagfill.scenes.compose import Box
from tagfill.scenes.scene import DEFAULT_DIFFICULTY, draw_scene, generate


def image_id(index: int) -> str:
    """Path of a picture in the folder that ``write_scenes`` makes."""
    return f"images/{index:06d}.jpg"


class Pictures(Sequence[Image.Image]):
    """The pictures of a sequence, each drawn on demand."""

    def __init__(self, indices: range, size: int, seed: int, difficulty: float) -> None:
        self._indices, self._size = indices, size
        self._seed, self._difficulty = seed, difficulty

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, at: int) -> Image.Image: ...
    @overload
    def __getitem__(self, at: slice) -> Pictures: ...
    def __getitem__(self, at: int | slice) -> Image.Image | Pictures:
        if isinstance(at, slice):
            return Pictures(self._indices[at], self._size, self._seed, self._difficulty)
        return draw_scene(self._indices[at], self._size, self._seed, self._difficulty).image


@dataclass(frozen=True, eq=False)
class Album:
    """Full labels, boxes and pictures of the same scenes, row by row."""

    table: LabelTable
    boxes: Boxes
    images: Pictures


def dataset(
    count: int, size: int = 256, seed: int = 0, difficulty: float = DEFAULT_DIFFICULTY
) -> Album:
    """Draw scenes for their labels and boxes; the pictures are drawn again on demand."""
    scenes = [(scene.labels, scene.boxes) for scene in generate(count, size, seed, difficulty)]
    ids = tuple(image_id(index) for index in range(count))
    return Album(
        table=LabelTable(ids, CLASSES, np.stack([labels for labels, _ in scenes])),
        boxes=gather_boxes((boxes for _, boxes in scenes), size),
        images=Pictures(range(count), size, seed, difficulty),
    )


def gather_boxes(boxes_of_images: Iterable[Sequence[Box]], size: int) -> Boxes:
    """Pixel boxes of the images in table order, as fractions of a picture."""
    column = {name: number for number, name in enumerate(CLASSES)}
    rows, labels, places = [], [], []
    for row, boxes in enumerate(boxes_of_images):
        for box in boxes:
            rows.append(row)
            labels.append(column[box.name])
            places.append((box.left, box.top, box.width, box.height))
    return Boxes(
        image=np.array(rows, dtype=np.intp),
        label=np.array(labels, dtype=np.intp),
        xywh=np.array(places, dtype=np.float64).reshape(-1, 4) / size,
    )
