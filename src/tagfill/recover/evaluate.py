"""How good recovered tags are expected to be, and how good they are where the truth is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tagfill.arrays import Floats, Mask
from tagfill.evaluate import mean_average_precision
from tagfill.labels import POSITIVE, UNKNOWN, Labels

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
    likely = probability[unknown]
    total = float(likely.sum())
    first = _likeliest(likely, int(total / min(CUTS)) + 1)  # the mean of more is below every cut
    expected = np.cumsum(likely[first])
    mean = expected / np.arange(1, len(first) + 1)
    labels = None if truth is None else truth[unknown]
    positives = 0 if labels is None else int((labels == POSITIVE).sum())
    rows = []
    for cut in CUTS:
        count = int((mean >= cut).sum())
        reached = _share(float(expected[count - 1]) if count else 0.0, total)
        real = (None, None) if labels is None else _real(labels[first[:count]], positives)
        rows.append(Cut(cut, count, reached, *real))
    return rows


def _likeliest(likely: Floats, most: int) -> npt.NDArray[np.intp]:
    """Where the largest are, the largest first, without sorting the rest."""
    rest = len(likely) - most
    places = (
        np.arange(len(likely))
        if rest <= 0
        else np.flatnonzero(likely >= np.partition(likely, rest)[rest])
    )
    return places[np.argsort(-likely[places], kind="stable")][:most]


def _real(labels: Labels, positives: int) -> tuple[float | None, float | None]:
    """Precision and recall of entries with these labels, where there are so many positives."""
    hits = int((labels == POSITIVE).sum())
    return _share(hits, int((labels != UNKNOWN).sum())), _share(hits, positives)


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def train_map(probability: Floats, truth: Labels) -> float:
    """mAP of label estimates of the training images against their full labels, in percent.

    Cole et al. 2021, Table 2, asks the same of predictions.
    """
    return mean_average_precision(probability, truth).mAP
