"""Partially known labels: shares of entries, shares of positives, counts per class."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tagfill.errors import TagfillError
from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Labels

Mask = npt.NDArray[np.bool_]


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


def _keep(truth: Labels, visible: Mask) -> Labels:
    return np.where(visible, truth, np.int8(UNKNOWN))


def _draw(
    generator: np.random.Generator, eligible: Mask, count: npt.NDArray[np.float64], axis: int
) -> Mask:
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
