"""Regimes: pure, seeded functions from full labels to observed labels, and their names.

To add a regime, write its function and name it in ``REGIMES``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from tagfill.arrays import Floats, Mask
from tagfill.errors import TagfillError
from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Boxes, Labels, Rows

Count = int | Literal["all"]
Weights = Floats

PUBLISHED_SEED = 1200
LEAST_DISTANCE = 0.0005


def single_positive(truth: Labels, seed: int = PUBLISHED_SEED) -> Labels:
    """Keep one positive of each image, drawn uniformly; everything else becomes unknown.

    An image without a positive ends with no known label.

    Args:
        seed: 1200 is the published one.

    >>> single_positive(np.array([[1, 0, 1], [0, 0, 0]], dtype=np.int8), seed=0)
    array([[-1, -1,  1],
           [-1, -1, -1]], dtype=int8)
    """
    return k_positives_m_negatives(truth, seed, positives=1, negatives=0)


def k_positives_m_negatives(
    truth: Labels, seed: int = PUBLISHED_SEED, *, positives: Count = 1, negatives: Count = 1
) -> Labels:
    """Keep some positives and some negatives of each image, drawn uniformly.

    An image with fewer than asked for keeps all it has. Equal to the published draws bit for bit
    (Cole et al. 2021, MLSPL): their code walks through the images in order with one
    ``RandomState(seed)``; for each it shuffles the positives, then the negatives, and keeps the
    first few of each. The shuffle of the negatives uses up random numbers even when none is kept,
    so it happens here too.

    Args:
        seed: 1200 is the published one.
        positives: how many of each image's positives stay known, or "all".
        negatives: how many of its negatives stay known, or "all".
    """
    kept = ((POSITIVE, _limit(positives, "positives")), (NEGATIVE, _limit(negatives, "negatives")))
    generator = np.random.RandomState(seed)
    observed = np.full(truth.shape, UNKNOWN, dtype=np.int8)
    for labels, result in zip(truth, observed, strict=True):
        for state, limit in kept:
            columns: Rows = np.flatnonzero(labels == state)
            generator.shuffle(columns)
            result[columns[:limit]] = state
    return observed


def known_proportion(
    truth: Labels,
    seed: int,
    *,
    proportion: float,
    per_image: bool = False,
    published: bool = False,
) -> Labels:
    """Keep a share of all labels, positive and negative alike.

    Each known entry stays known with probability p, independently. With ``per_image`` exactly
    round(p n) of the n known entries of each image do, halves rounded up.

    Durand et al. 2019; the setting of SST, SARB, DualCoOp and PU-MLC ("10 % ... 90 % known").

    Args:
        proportion: p, from 0 to 1.
        per_image: draw the same share from every image.
        published: draw as the code of SST, SARB and PU-MLC does, whose seed is 0: with images and
            classes in their order, entry for entry the same labels are known.
    """
    _check_proportion(proportion)
    if published and per_image:
        raise TagfillError("the published draw is not made per image", remedy="leave out per_image")
    generator = np.random.default_rng(seed)
    known = truth != UNKNOWN
    if per_image:
        counts = np.floor(proportion * known.sum(axis=1, keepdims=True) + 0.5)
        visible = _draw(generator, known, counts, axis=1)
    else:
        lots = np.random.RandomState(seed).random_sample if published else generator.random
        visible = known & (lots(truth.shape) < proportion)
    return _keep(truth, visible)


def positive_proportion(truth: Labels, seed: int, *, proportion: float) -> Labels:
    """Keep each positive with probability p; everything else becomes unknown.

    The positive-unlabeled setting. An image may end with no known label.

    Args:
        proportion: p, from 0 to 1.

    Returns:
        [N, K] observed labels, without negatives.
    """
    _check_proportion(proportion)
    chosen = np.random.default_rng(seed).random(truth.shape) < proportion
    return _keep(truth, (truth == POSITIVE) & chosen)


def fixed_per_class(truth: Labels, seed: int, *, count: int) -> Labels:
    """Keep n positives and n negatives of each class, drawn uniformly from all images.

    A class with fewer keeps all it has.

    Ben-Baruch et al. 2022 (CSL), "fixed per class"; 1,000 in their tables for COCO.

    Args:
        count: n, at least 1.
    """
    if count < 1:
        raise TagfillError(f"count must be at least 1, got {count}")
    generator = np.random.default_rng(seed)
    limit = np.asarray(count, dtype=np.float64)
    positives = _draw(generator, truth == POSITIVE, limit, axis=0)
    negatives = _draw(generator, truth == NEGATIVE, limit, axis=0)
    return _keep(truth, positives | negatives)


def false_negatives(truth: Labels, seed: int, *, proportion: float) -> Labels:
    """Rewrite each positive as negative with probability p: wrong labels, not unknown ones.

    Args:
        proportion: p, from 0 to 1.

    Returns:
        [N, K] observed labels; negatives and unknowns as in ``truth``.
    """
    _check_proportion(proportion)
    overlooked = np.random.default_rng(seed).random(truth.shape) < proportion
    return np.where((truth == POSITIVE) & overlooked, np.int8(NEGATIVE), truth)


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

    Arroyo, Perona and Cole 2023, "Understanding label bias in single positive multi-label
    learning": positive i of image n is kept with probability w_ni / sum_j w_nj over the image's
    positives j. Where all those weights are 0, such as in an image without boxes, the draw is
    uniform. An image without a positive ends with no known label.

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


@dataclass(frozen=True)
class Masking:
    """A regime with its settings.

    Args:
        draw: from full labels and a seed to observed labels.
        boxes: whether ``draw`` takes object boxes.
    """

    draw: Callable[..., Labels]
    settings: Mapping[str, Any] = field(default_factory=dict)
    boxes: bool = False

    def observe(self, truth: Labels, seed: int, boxes: Boxes | None = None) -> Labels:
        """What of the full labels [N, K] is observed; ``boxes`` refer to the rows of ``truth``."""
        if not self.boxes:
            return self.draw(truth, seed, **self.settings)
        if boxes is None:
            raise TagfillError(
                "this regime needs object boxes, and the labels have none",
                remedy="read a format with boxes, such as COCO json or a VOC devkit",
            )
        return self.draw(truth, seed, boxes, **self.settings)


REGIMES: Mapping[str, Masking] = {
    "single_positive": Masking(single_positive),
    "k_positives_m_negatives": Masking(k_positives_m_negatives, {"positives": 1, "negatives": 1}),
    "known_proportion": Masking(
        known_proportion, {"proportion": 0.5, "per_image": False, "published": False}
    ),
    "positive_proportion": Masking(positive_proportion, {"proportion": 0.5}),
    "fixed_per_class": Masking(fixed_per_class, {"count": 100}),
    "false_negatives": Masking(false_negatives, {"proportion": 0.2}),
    "biased_by_size": Masking(biased_by_size, boxes=True),
    "biased_by_place": Masking(biased_by_place, boxes=True),
    "biased_by_frequency": Masking(biased_by_frequency, {"power": 1.0}),
}


def make(name: str, settings: Mapping[str, Any] | None = None) -> Masking:
    """A regime by its name; settings it does not have are errors."""
    if name not in REGIMES:
        raise TagfillError(f"unknown regime {name!r}", remedy=f"use one of {', '.join(REGIMES)}")
    known = REGIMES[name].settings
    for setting in settings or {}:
        if setting not in known:
            remedy = f"its settings: {', '.join(known) or 'none'}"
            raise TagfillError(f"{name} has no setting {setting!r}", remedy=remedy)
    return replace(REGIMES[name], settings={**known, **(settings or {})})


def defaults(name: str) -> dict[str, Any]:
    """The settings of a regime with their defaults."""
    return dict(REGIMES[name].settings)


def _limit(count: Count, what: str) -> int | None:
    if count == "all":
        return None
    if not isinstance(count, int) or count < 0:
        raise TagfillError(f"{what} must be a whole number from 0 or 'all', got {count!r}")
    return count


def _keep(truth: Labels, visible: Mask) -> Labels:
    return np.where(visible, truth, np.int8(UNKNOWN))


def _draw(generator: np.random.Generator, eligible: Mask, count: Floats, axis: int) -> Mask:
    """Choose ``count`` eligible entries along an axis, or all if there are fewer."""
    keys = np.where(eligible, generator.random(eligible.shape, dtype=np.float32), np.float32(2))
    order = np.argsort(keys, axis=axis, kind="stable")
    first = np.expand_dims(np.arange(eligible.shape[axis]), 1 - axis) < count
    chosen = np.empty_like(eligible)
    np.put_along_axis(chosen, order, np.broadcast_to(first, eligible.shape), axis=axis)
    return chosen & eligible


def _check_proportion(proportion: float) -> None:
    if not 0 <= proportion <= 1:
        raise TagfillError(f"proportion must lie between 0 and 1, got {proportion}")


def _sums(boxes: Boxes, truth: Labels, values: Weights) -> Weights:
    """[N, K] sum of a value over the boxes of each image and class."""
    sums = np.zeros(truth.shape)
    np.add.at(sums, (boxes.image, boxes.label), values)
    return sums
