"""From a seed and a number to a picture with its labels and boxes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import numpy as np
from PIL import Image

from tagfill.errors import TagfillError
from tagfill.labels.table import NEGATIVE, POSITIVE, Labels
from tagfill.scenes.catalog import CLASSES
from tagfill.scenes.compose import Box, develop, paint
from tagfill.scenes.plan import Hardness, draw_plan

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
