"""How well each image's own classes are ordered: ranking loss, coverage, LRAP, and metrics at k.

An unknown entry is treated as if its class did not exist for that image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tagfill.arrays import Floats, Integers
from tagfill.evaluate.arrays import Scores, blocks, checked
from tagfill.evaluate.counts import descending
from tagfill.labels.table import POSITIVE, UNKNOWN, Labels

UndefinedImages = Literal["skip", "perfect"]
"""Images that cannot be scored are left out, or count as perfect, as in scikit-learn."""


@dataclass(frozen=True, eq=False)
class ImageRanking:
    """Ranking metrics of single images ([N] each), NaN where an image cannot be scored.

    Args:
        loss: share of (positive, negative) pairs in which the positive does not score higher.
        coverage: how many classes from the top down hold all positives.
        average_precision: mean over the positives of (positives scored at least as high) /
            (classes scored at least as high).
    """

    loss: Floats
    coverage: Floats
    average_precision: Floats


@dataclass(frozen=True)
class AtK:
    """Metrics of the k highest-scored known classes of each image, averaged over images.

    Args:
        precision: share of them that is positive (of as many as are known, if fewer than k).
        recall: share of the positives that is among them, over images with positives.
        hit: share of images with positives that have one among them.
    """

    precision: float
    recall: float
    hit: float


def ranking_loss(
    scores: npt.ArrayLike, labels: npt.ArrayLike, *, undefined_images: UndefinedImages = "skip"
) -> float:
    """Mean share of wrongly ordered (positive, negative) pairs; a tie is wrong. 0 is best.

    Defined for images with a known positive and a known negative.
    """
    return _mean(image_ranking(scores, labels).loss, 0.0, undefined_images)


def coverage_error(
    scores: npt.ArrayLike, labels: npt.ArrayLike, *, undefined_images: UndefinedImages = "skip"
) -> float:
    """Mean number of classes to take from the top to have all positives (ties taken together).

    The best value is the mean number of positives. Defined for images with a known positive.
    """
    return _mean(image_ranking(scores, labels).coverage, 0.0, undefined_images)


def label_ranking_average_precision(
    scores: npt.ArrayLike, labels: npt.ArrayLike, *, undefined_images: UndefinedImages = "skip"
) -> float:
    """Mean over images of the average precision over classes; 1 is best.

    Defined for images with a known positive and a known negative.
    """
    return _mean(image_ranking(scores, labels).average_precision, 1.0, undefined_images)


def image_ranking(scores: npt.ArrayLike, labels: npt.ArrayLike) -> ImageRanking:
    """All ranking metrics of every image, from one sort."""
    score_array, label_array = checked(scores, labels)
    parts = [
        _rank_block(score_array[rows], label_array[rows]) for rows in blocks(*score_array.shape)
    ]
    loss, coverage, precision = np.concatenate(parts, axis=1) if parts else np.empty((3, 0))
    return ImageRanking(loss, coverage, precision)


def at_k(scores: npt.ArrayLike, labels: npt.ArrayLike, ks: Sequence[int]) -> dict[int, AtK]:
    """Precision, recall and hit rate of the k best; ties go to the lower class number."""
    score_array, label_array = checked(scores, labels)
    known = (label_array != UNKNOWN).sum(axis=1)
    positives = (label_array == POSITIVE).sum(axis=1)
    deepest = max(ks)
    hits = np.zeros((len(score_array), deepest), dtype=np.int64)
    for rows in blocks(*score_array.shape):
        order = descending(score_array[rows], label_array[rows])[:, :deepest]
        hit = np.take_along_axis(label_array[rows], order, axis=1) == POSITIVE
        hits[rows, : hit.shape[1]] = hit
    found_by = hits.cumsum(axis=1)
    return {k: _at_k(found_by[:, k - 1], np.minimum(known, k), positives) for k in ks}


def mean_of_defined(values: Floats) -> float:
    """Mean of the values that are not NaN; NaN without any."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def _at_k(hits: Integers, taken: Integers, positives: Integers) -> AtK:
    counted, relevant = taken > 0, positives > 0
    return AtK(
        precision=mean_of_defined(hits[counted] / taken[counted]),
        recall=mean_of_defined(hits[relevant] / positives[relevant]),
        hit=mean_of_defined((hits[relevant] > 0).astype(np.float64)),
    )


def _mean(values: Floats, perfect: float, undefined_images: UndefinedImages) -> float:
    if undefined_images == "perfect":
        values = np.where(np.isnan(values), perfect, values)
    return mean_of_defined(values)


def _rank_block(scores: Scores, labels: Labels) -> Floats:
    """[3, N] ranking loss, coverage and average precision of a block of images."""
    order = descending(scores, labels)
    ranked = np.take_along_axis(labels, order, axis=1)
    positive, known = ranked == POSITIVE, ranked != UNKNOWN
    tie_end = _last_of_ties(np.take_along_axis(scores, order, axis=1))
    above = np.take_along_axis(known.cumsum(axis=1), tie_end, axis=1)
    positives_above = np.take_along_axis(positive.cumsum(axis=1), tie_end, axis=1)
    positives = positive.sum(axis=1)
    pairs = positives * (known.sum(axis=1) - positives)
    wrong = np.where(positive, above - positives_above, 0).sum(axis=1)
    precision = np.where(positive, positives_above / np.maximum(above, 1), 0.0).sum(axis=1)
    metrics = np.full((3, len(scores)), np.nan)
    np.divide(wrong, pairs, out=metrics[0], where=pairs > 0)
    metrics[1] = np.where(positives > 0, np.where(positive, above, 0).max(axis=1), np.nan)
    np.divide(precision, positives, out=metrics[2], where=pairs > 0)
    return metrics


def _last_of_ties(ranked_scores: Scores) -> npt.NDArray[np.intp]:
    """[N, K] the position of the last entry with the same score, along falling scores."""
    classes = ranked_scores.shape[1]
    last = np.ones(ranked_scores.shape, dtype=bool)
    last[:, :-1] = ranked_scores[:, :-1] != ranked_scores[:, 1:]
    ends = np.where(last, np.arange(classes), classes)
    return np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
