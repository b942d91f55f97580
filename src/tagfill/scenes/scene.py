"""From a seed and a number to a picture with its labels and boxes; many as an album or a folder."""

from __future__ import annotations

import json
import math
import multiprocessing
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from random import Random
from typing import overload

import numpy as np
from PIL import Image

from tagfill.errors import TagfillError
from tagfill.files import atomic_path, write_text
from tagfill.labels.dataset import Boxes, Dataset
from tagfill.labels.io import save_labels
from tagfill.labels.table import NEGATIVE, POSITIVE, Labels, LabelTable
from tagfill.scenes.compose import Box, develop, paint
from tagfill.scenes.plan import Hardness, draw_plan
from tagfill.scenes.things import CLASSES

DEFAULT_DIFFICULTY = 0.5
SIZES = (32, 2048)
"""Smallest and largest picture."""

_COLUMN = {name: column for column, name in enumerate(CLASSES)}
_CHUNK = 32
_QUALITY = 90
_OURS = re.compile(r"\d{6,}\.jpg")
Truth = tuple[Labels, tuple[Box, ...]]
LABELS, BOXES, SHEET = "labels.csv", "boxes.json", "contact_sheet.png"


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


def write_scenes(
    out: str | Path,
    count: int = 2000,
    size: int = 256,
    seed: int = 0,
    difficulty: float = DEFAULT_DIFFICULTY,
    test_fraction: float = 0.25,
    *,
    workers: int = 1,
    overwrite: bool = False,
) -> Dataset:
    """Draw scenes into a folder.

    It then holds ``images/*.jpg``, ``labels.csv`` (wide, full labels, with a split column),
    ``boxes.json`` (COCO instances) and ``contact_sheet.png``. The labels are written last, so a
    folder with labels is complete. Neither ``count`` nor ``workers`` changes any picture or its
    split.

    Args:
        test_fraction: share of the pictures in the split "test", evenly spread.
        workers: number of processes. More than one needs a main module that can be imported.
        overwrite: replace scenes that are already there.

    Raises:
        TagfillError: an argument is out of range, or the folder holds scenes already.
    """
    check(count, size, seed, difficulty)
    if not 0 <= test_fraction < 1:
        raise TagfillError(f"test fraction must be at least 0 and below 1, got {test_fraction}")
    if not 1 <= workers <= 1_024:
        raise TagfillError(f"workers must be from 1 to 1024, got {workers}")
    folder = Path(out)
    _prepare(folder, overwrite)
    chunks = [range(first, min(first + _CHUNK, count)) for first in range(0, count, _CHUNK)]
    truths = list(_run(partial(_draw, folder, size, seed, difficulty), chunks, workers))
    dataset = _dataset(folder, truths, size, test_fraction)
    _write_coco(folder / BOXES, dataset.table.images, [boxes for _, boxes in truths], size)
    shown = [Image.open(folder / image) for image in dataset.table.images[:24]]
    with atomic_path(folder / SHEET) as sheet:
        contact_sheet(shown).save(sheet)
    save_labels(dataset, folder / LABELS, format=dataset.format)
    return dataset


def contact_sheet(
    pictures: Sequence[Image.Image], *, columns: int = 6, side: int = 160
) -> Image.Image:
    """Thumbnails side by side on white."""
    gap = 6
    columns = min(columns, len(pictures))
    rows = math.ceil(len(pictures) / columns)
    sheet = Image.new("RGB", (columns * (side + gap) + gap, rows * (side + gap) + gap), "white")
    for number, picture in enumerate(pictures):
        row, column = divmod(number, columns)
        small = picture.resize((side, side), Image.Resampling.LANCZOS)
        sheet.paste(small, (gap + column * (side + gap), gap + row * (side + gap)))
    return sheet


def _prepare(folder: Path, overwrite: bool) -> None:
    images = folder / "images"
    if folder.exists() and not folder.is_dir():
        raise TagfillError("is a file, not a folder", file=folder)
    present = (folder / LABELS).exists() or (images.is_dir() and any(images.iterdir()))
    if present and not overwrite:
        raise TagfillError(
            "already has a data set",
            file=folder,
            remedy="choose another folder or pass --overwrite",
        )
    (folder / LABELS).unlink(missing_ok=True)
    images.mkdir(parents=True, exist_ok=True)
    for old in images.iterdir():
        if _OURS.fullmatch(old.name):
            old.unlink()


def _run(
    draw: Callable[[range], list[Truth]], chunks: list[range], workers: int
) -> Iterator[Truth]:
    workers = min(workers, len(chunks))
    if workers == 1:
        yield from chain.from_iterable(map(draw, chunks))
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        yield from chain.from_iterable(pool.map(draw, chunks))


def _draw(out: Path, size: int, seed: int, difficulty: float, indices: range) -> list[Truth]:
    truths = []
    for index in indices:
        scene = draw_scene(index, size, seed, difficulty)
        with atomic_path(out / image_id(index), sync=False) as file:
            scene.image.save(file, quality=_QUALITY)
        truths.append((scene.labels, scene.boxes))
    return truths


def _dataset(folder: Path, truths: list[Truth], size: int, test_fraction: float) -> Dataset:
    count = len(truths)
    ids = tuple(image_id(index) for index in range(count))
    marks = np.floor(np.arange(count + 1) * test_fraction)
    test = marks[1:] > marks[:-1]
    splits = {"train": np.flatnonzero(~test), "test": np.flatnonzero(test)}
    return Dataset(
        table=LabelTable(ids, CLASSES, np.stack([labels for labels, _ in truths])),
        source=folder / LABELS,
        format="csv_wide",
        splits={name: rows for name, rows in splits.items() if len(rows)},
        boxes=gather_boxes((boxes for _, boxes in truths), size),
        image_root=folder,
    )


def _write_coco(
    path: Path, images: Sequence[str], boxes_of_images: list[tuple[Box, ...]], size: int
) -> None:
    category = {name: number for number, name in enumerate(CLASSES, start=1)}
    flat = [(row, box) for row, boxes in enumerate(boxes_of_images) for box in boxes]
    content = {
        "info": {"description": "tagfill picture-book scenes"},
        "images": [
            {"id": row, "file_name": image, "width": size, "height": size}
            for row, image in enumerate(images)
        ],
        "categories": [{"id": number, "name": name} for name, number in category.items()],
        "annotations": [
            {
                "id": number,
                "image_id": row,
                "category_id": category[box.name],
                "bbox": [box.left, box.top, box.width, box.height],
                "area": box.area,
                "iscrowd": 0,
            }
            for number, (row, box) in enumerate(flat, start=1)
        ],
    }
    write_text(path, json.dumps(content))
