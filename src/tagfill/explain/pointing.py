"""The pointing game: is the maximum of a tag's map on the object?

Zhang et al. 2016: for every image and class with a box, a hit if the maximum of the map is inside
one of the boxes. Chance is what a random point would reach, the mean share of the image that the
boxes cover; the center of the image is the usual stronger baseline.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import tee
from pathlib import Path

import numpy as np
from PIL import Image

from tagfill.arrays import Floats, Mask
from tagfill.errors import TagfillError
from tagfill.explain.draw import peak
from tagfill.explain.maps import explain_images
from tagfill.image_files import find_images
from tagfill.images import open_image
from tagfill.labels import Boxes, Dataset, Rows
from tagfill.models.bundle import Bundle
from tagfill.train.data import prepare
from tagfill.train.folder import RunFolder

_GRID = 64
"""Side of the grid on which the union of boxes is measured."""


@dataclass(frozen=True)
class Pointing:
    """Metrics of one class, or means over classes, as fractions.

    Args:
        accuracy: how often the peak of the map hit.
        chance: how often a random point would.
        center: how often the center of the image would.
        cases: pairs of image and class.
    """

    accuracy: float
    chance: float
    center: float
    cases: int


@dataclass(frozen=True)
class PointingResult:
    """The game on a data set: every class, the mean over classes, and over all cases."""

    classes: dict[str, Pointing]
    mean: Pointing
    overall: Pointing


def inside(point: tuple[float, float], boxes: Floats) -> bool:
    """Whether a point (x, y) lies in any of the boxes [M, 4] (left, top, width, height)."""
    x, y = point
    left, top, width, height = boxes.T
    hits = (left <= x) & (x <= left + width) & (top <= y) & (y <= top + height)
    return bool(hits.any())


def covered(boxes: Floats) -> float:
    """The share of the image that boxes [M, 4] cover together."""
    middles = (np.arange(_GRID) + 0.5) / _GRID
    left, top, width, height = (part[:, None] for part in boxes.T)
    across = (left <= middles) & (middles < left + width)
    down = (top <= middles) & (middles < top + height)
    union: Mask = (down[:, :, None] & across[:, None, :]).any(axis=0)
    return float(union.mean())


def cases_of(boxes: Boxes, image: int) -> Iterator[tuple[int, Floats]]:
    """The classes with boxes in an image, each with its boxes."""
    here = boxes.image == image
    for label in np.unique(boxes.label[here]).tolist():
        yield label, boxes.xywh[here & (boxes.label == label)]


def play(
    cases: Iterable[tuple[int, tuple[float, float], Floats]], names: Sequence[str]
) -> PointingResult | None:
    """Play the game; None without a case.

    Args:
        cases: class, the point, and the boxes of the class in the image.
    """
    labels, outcomes = [], []
    for label, point, boxes in cases:
        labels.append(label)
        outcomes.append((inside(point, boxes), covered(boxes), inside((0.5, 0.5), boxes)))
    if not labels:
        return None
    hits, numbers = np.array(outcomes, dtype=np.float64), np.array(labels)
    classes = {names[label]: _mean(hits[numbers == label]) for label in np.unique(numbers)}
    rates = np.array([(rate.accuracy, rate.chance, rate.center) for rate in classes.values()])
    mean = replace(_mean(rates), cases=len(labels))
    return PointingResult(classes, mean, overall=_mean(hits))


def _mean(outcomes: Floats) -> Pointing:
    accuracy, chance, center = (float(column.mean()) for column in outcomes.T)
    return Pointing(accuracy, chance, center, cases=len(outcomes))


@dataclass(frozen=True)
class Evaluation:
    """The result, the number of images, and a note on their choice."""

    result: PointingResult
    images: int
    notes: tuple[str, ...]


def evaluate_pointing(
    run: Path,
    bundle: Bundle,
    dataset: Dataset,
    *,
    split: str | None = None,
    limit: int | None = None,
) -> Evaluation:
    """Play the pointing game on labeled boxes.

    Args:
        run: the run folder; images it trained on are left out.
        limit: at most this many images, evenly spread.
    """
    if dataset.boxes is None:
        raise TagfillError(
            "it has no boxes",
            file=dataset.source,
            remedy="give a COCO instances file or a VOC devkit",
        )
    rows = np.unique(dataset.boxes.image)
    if split is not None:
        dataset.split(split)
        rows = np.intersect1d(rows, dataset.splits[split])
    unseen, notes = _unseen(run, dataset, rows)
    paths = _spread(unseen, limit)
    if not paths:
        raise TagfillError("the run was trained on all images with boxes", file=dataset.source)
    column_of = {name: column for column, name in enumerate(bundle.classes)}
    columns = [column_of.get(name) for name in dataset.table.classes]
    strange = sum(column is None for column in columns)
    if strange:
        notes.append(f"{strange} classes of the boxes are not in the model and are left out")
    result = play(_cases(bundle, dataset.boxes, paths, columns), dataset.table.classes)
    if result is None:
        raise TagfillError("no class in common with the model", file=dataset.source)
    return Evaluation(result, len(paths), tuple(notes))


def _spread(paths: dict[int, Path], limit: int | None) -> dict[int, Path]:
    rows = list(paths)
    if limit is None or len(rows) <= limit:
        return paths
    chosen = np.linspace(0, len(rows) - 1, limit).astype(int)
    return {rows[index]: paths[rows[index]] for index in chosen}


def _cases(
    bundle: Bundle, boxes: Boxes, paths: dict[int, Path], columns: Sequence[int | None]
) -> Iterator[tuple[int, tuple[float, float], Floats]]:
    def pictures() -> Iterator[tuple[int, Image.Image]]:
        for row, path in paths.items():
            with suppress(TagfillError):
                yield row, open_image(path, bundle.network.backbone.spec.size)

    opened, again = tee(pictures())
    explanations = explain_images(bundle, (picture for _, picture in again))
    for (row, _), explained in zip(opened, explanations, strict=True):
        for label, chosen in cases_of(boxes, row):
            column = columns[label]
            if column is not None:
                yield label, peak(explained.heat[column]), chosen


def _unseen(run: Path, dataset: Dataset, rows: Rows) -> tuple[dict[int, Path], list[str]]:
    """Files of the images that the run used neither for training nor for validation."""
    root = dataset.image_root or dataset.source.parent
    files = find_images(root, [dataset.table.images[row] for row in rows])
    existing = {int(row): path for row, path in zip(rows, files, strict=True) if path is not None}
    missing = len(files) - len(existing)
    notes = [f"{missing} images are not in {root}"] if missing else []
    learned = _trained_on(run)
    if learned is None:
        return existing, [*notes, "it is not known whether the run was trained on these images"]
    fresh = {row: path for row, path in existing.items() if path.resolve() not in learned}
    if len(fresh) < len(existing):
        notes.append(
            f"{len(existing) - len(fresh)} images are left out: the run was trained on them"
        )
    return fresh, notes


def _trained_on(run: Path) -> set[Path] | None:
    try:
        _, config = RunFolder.open(run)
        data = prepare(config.data)
    except TagfillError:
        return None
    splits = (data.train, data.val)
    return {path.resolve() for split in splits if split and split.paths for path in split.paths}
