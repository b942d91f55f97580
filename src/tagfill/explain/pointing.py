"""The pointing game: is the maximum of a tag's map on the object?

Zhang et al. 2016: for every image and class with a box, a hit if the maximum of the map is inside
one of the boxes. Chance is what a random point would reach, the mean share of the image that the
boxes cover; the center of the image is the usual stronger baseline.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tagfill.evaluate.arrays import Floats
from tagfill.labels import Boxes

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
    union: npt.NDArray[np.bool_] = (down[:, :, None] & across[:, None, :]).any(axis=0)
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
