"""From a seed and a number to a picture with its labels and boxes; many of them as an album."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import overload

import numpy as np
from PIL import Image

from tagfill.errors import TagfillError
from tagfill.labels.dataset import Boxes
from tagfill.labels.table import NEGATIVE, POSITIVE, Labels, LabelTable
from tagfill.scenes.compose import Box, develop, paint
from tagfill.scenes.plan import Hardness, draw_plan
from tagfill.scenes.things import CLASSES

DEFAULT_DIFFICULTY = 0.5
SIZES = (32, 2048)
"""Smallest and largest picture."""

_COLUMN = {name: column for column, name in enumerate(CLASSES)}


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture and the truth about it.

    Args:
        environment: where it is set, such as ``"meadow"``.
        hour: ``"day"``, ``"dusk"`` or ``"night"``.
        image: RGB, square.
        labels: [K] 1 for every class of ``CLASSES`` that can be seen, else 0.
        boxes: the things that can be seen, in painting order.
    """

    index: int
    environment: str
    hour: str
    image: Image.Image
    labels: Labels
    boxes: tuple[Box, ...]


def generate(
    count: int,
    size: int = 256,
    seed: int = 0,
    difficulty: float = DEFAULT_DIFFICULTY,
    start: int = 0,
) -> Iterator[Scene]:
    """Draw the pictures number ``start`` to ``start + count - 1``, one at a time.

    >>> [scene.index for scene in generate(2, size=32, start=7)]
    [7, 8]
    """
    check(count, size, seed, difficulty, start)
    return (draw_scene(start + step, size, seed, difficulty) for step in range(count))


def draw_scene(index: int, size: int, seed: int, difficulty: float) -> Scene:
    """Draw one picture; it depends on the arguments only.

    A draw in which no thing can be seen well enough to be labeled is drawn again.
    """
    hardness = Hardness.of(difficulty)
    rng = Random(f"tagfill scene {seed} {index}")
    while True:
        plan = draw_plan(rng, hardness)
        canvas = paint(plan, rng, size)
        boxes = canvas.boxes()
        if boxes:
            break
    labels = np.full(len(CLASSES), NEGATIVE, dtype=np.int8)
    labels[[_COLUMN[box.name] for box in boxes]] = POSITIVE
    image = develop(canvas, rng, hardness)
    setting = plan.setting
    return Scene(index, setting.environment.name, setting.hour, image, labels, boxes)


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
    rows, labels, places = [], [], []
    for row, boxes in enumerate(boxes_of_images):
        for box in boxes:
            rows.append(row)
            labels.append(_COLUMN[box.name])
            places.append((box.left, box.top, box.width, box.height))
    return Boxes(
        image=np.array(rows, dtype=np.intp),
        label=np.array(labels, dtype=np.intp),
        xywh=np.array(places, dtype=np.float64).reshape(-1, 4) / size,
    )


def check(count: int, size: int, seed: int, difficulty: float, start: int = 0) -> None:
    """Refuse arguments no picture can be drawn from.

    Raises:
        TagfillError: an argument is out of range; the message says which.
    """
    for name, value, low, high in (
        ("count", count, 1, 10_000_000),
        ("size", size, *SIZES),
        ("seed", seed, 0, 2**63 - 1),
        ("difficulty", difficulty, 0, 1),
        ("start", start, 0, None),
    ):
        if not low <= value or (high is not None and value > high):
            limits = f"{low} or more" if high is None else f"from {low} to {high}"
            raise TagfillError(f"{name} must be {limits}, got {value}")
