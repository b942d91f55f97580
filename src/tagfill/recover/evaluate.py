"""How good recovered tags are expected to be, and how good they are where the truth is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagfill.evaluate import mean_average_precision
from tagfill.evaluate.arrays import Floats
from tagfill.labels import POSITIVE, UNKNOWN, Labels
from tagfill.recover.choose import Mask

CUTS = (0.95, 0.9, 0.8, 0.7, 0.5)


@dataclass(frozen=True)
class Cut:
    """The likeliest tags down to one expected precision.

    Args:
        expected_precision: what was asked for.
        suggestions: how many tags that gives.
        expected_recall: share of the tags expected to be missing that are among them.
        precision, recall: the same against the truth, where it is known.
    """

    expected_precision: float
    suggestions: int
    expected_recall: float | None
    precision: float | None
    recall: float | None


def cuts(probability: Floats, unknown: Mask, truth: Labels | None) -> list[Cut]:
    """Expected and real precision and recall of recovered tags at several cut-offs."""
    places = np.flatnonzero(unknown)
    places = places[np.argsort(-probability.ravel()[places], kind="stable")]
    chances = probability.ravel()[places]
    expected = np.cumsum(chances)
    mean = expected / np.arange(1, len(places) + 1)
    labels = None if truth is None else truth.ravel()[places]
    return [_cut(cut, int((mean >= cut).sum()), expected, labels) for cut in CUTS]


def _cut(cut: float, count: int, expected: Floats, labels: Labels | None) -> Cut:
    real: tuple[float | None, float | None] = (None, None)
    if labels is not None:
        known = labels[:count] != UNKNOWN
        hits, positives = int((labels[:count] == POSITIVE).sum()), int((labels == POSITIVE).sum())
        real = _share(hits, int(known.sum())), _share(hits, positives)
    total = float(expected[-1]) if len(expected) else 0.0
    return Cut(cut, count, _share(float(expected[count - 1]) if count else 0.0, total), *real)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def train_map(probability: Floats, truth: Labels) -> float:
    """mAP of label estimates of the training images against their full labels, in percent.

    Cole et al. 2021, Table 2, asks the same of predictions.
    """
    return mean_average_precision(probability, truth).mAP
