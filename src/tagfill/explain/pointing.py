"""The pointing game: is the maximum of a tag's map on the object?

Zhang et al. 2016: for every image and class with a box, a hit if the maximum of the map is inside
one of the boxes. Chance is what a random point would reach, the mean share of the image that the
boxes cover; the center of the image is the usual stronger baseline.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tagfill.evaluate.arrays import Floats
from tagfill.labels import Boxes, Rows

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


@dataclass(frozen=True, eq=False)
class Game:
    """What was pointed at ([M] each): the class, whether it hit, and the two baselines."""

    label: Rows
    hit: npt.NDArray[np.bool_]
    chance: Floats
    center: npt.NDArray[np.bool_]

    def result(self, names: tuple[str, ...]) -> PointingResult:
        """Metrics per class and over all."""
        rates = {names[label]: self._of(self.label == label) for label in np.unique(self.label)}
        metrics = [(rate.accuracy, rate.chance, rate.center) for rate in rates.values()]
        accuracy, chance, center = np.mean(metrics, axis=0).tolist()
        mean = Pointing(accuracy, chance, center, len(self.label))
        return PointingResult(rates, mean, self._of(np.ones(len(self.label), dtype=bool)))

    def _of(self, here: npt.NDArray[np.bool_]) -> Pointing:
        return Pointing(
            accuracy=float(self.hit[here].mean()),
            chance=float(self.chance[here].mean()),
            center=float(self.center[here].mean()),
            cases=int(here.sum()),
        )


def play(cases: Iterator[tuple[int, tuple[float, float], Floats]]) -> Game:
    """Play the game.

    Args:
        cases: class, the point, and the boxes of the class in the image.
    """
    rows = [
        (label, inside(point, boxes), covered(boxes), inside((0.5, 0.5), boxes))
        for label, point, boxes in cases
    ]
    label, hit, chance, center = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Game(
        np.array(label, dtype=np.intp),
        np.array(hit, dtype=bool),
        np.array(chance, dtype=np.float64),
        np.array(center, dtype=bool),
    )
