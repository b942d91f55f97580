"""A biased single positive: large, central or frequent objects are more likely.

Arroyo, Perona and Cole 2023, "Understanding label bias in single positive multi-label learning".
One positive i of image n is kept, with probability w_ni / sum_j w_nj over the image's positives j.
Where all those weights are 0, such as in an image without boxes, the draw is uniform.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tagfill.errors import TagfillError
from tagfill.labels import POSITIVE, UNKNOWN, Boxes, Labels

Weights = npt.NDArray[np.float64]

LEAST_DISTANCE = 0.0005


def biased_by_size(truth: Labels, seed: int, boxes: Boxes) -> Labels:
    """Keep one positive of each image, larger ones more likely.

    w_ni = summed area of the boxes of class i in image n.

    Args:
        boxes: of the objects; rows and columns are those of ``truth``.
    """
    return weighted_single_positive(truth, seed, _sums(boxes, truth, boxes.xywh[:, 2:].prod(1)))


def biased_by_place(truth: Labels, seed: int, boxes: Boxes) -> Labels:
    """Keep one positive of each image, those near the center more likely.

    w_ni = sum of 1/d over the boxes of class i in image n, d the distance between the centers of
    box and image. Distances are taken in fractions of width and height, not in pixels as in the
    published code, and are never below 0.0005. Arguments as of ``biased_by_size``.
    """
    centers = boxes.xywh[:, :2] + boxes.xywh[:, 2:] / 2
    distances = np.hypot(*(centers - 0.5).T)
    nearness = 1 / np.maximum(distances, LEAST_DISTANCE)
    return weighted_single_positive(truth, seed, _sums(boxes, truth, nearness))


def biased_by_frequency(truth: Labels, seed: int, *, power: float = 1.0) -> Labels:
    """Keep one positive of each image, frequent classes more likely.

    w_i = (number of positives of class i in ``truth``) ** power. The published "semantic" draw
    takes w_i from a table of words people use; ``weighted_single_positive`` accepts such a table.

    Args:
        power: 0 draws uniformly, below 0 favors rare classes.
    """
    frequency = (truth == POSITIVE).sum(axis=0).astype(np.float64)
    weights = np.power(frequency, power, out=np.zeros_like(frequency), where=frequency > 0)
    return weighted_single_positive(truth, seed, weights)


def weighted_single_positive(truth: Labels, seed: int, weights: Weights) -> Labels:
    """Keep one positive of each image, drawn in proportion to given weights.

    An image without a positive ends with no known label.

    Args:
        weights: [N, K] or [K], at least 0.
    """
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise TagfillError("weights must be finite and at least 0")
    positive = truth == POSITIVE
    largest = np.where(positive, weights, 0.0).max(axis=1, keepdims=True)
    chances = np.where(largest > 0, weights / np.where(largest > 0, largest, 1.0), 1.0)
    totals = np.cumsum(np.where(positive, chances, 0.0), axis=1)
    marks = np.random.default_rng(seed).random((len(truth), 1)) * totals[:, -1:]
    chosen = np.argmax(totals > marks, axis=1)
    observed = np.full(truth.shape, UNKNOWN, dtype=np.int8)
    rows = np.flatnonzero(positive.any(axis=1))
    observed[rows, chosen[rows]] = POSITIVE
    return observed


def _sums(boxes: Boxes, truth: Labels, values: Weights) -> Weights:
    """[N, K] sum of a value over the boxes of each image and class."""
    sums = np.zeros(truth.shape)
    np.add.at(sums, (boxes.image, boxes.label), values)
    return sums
