"""Which epoch or model to keep when the validation labels are incomplete.

No criterion can be as good as the mAP on full labels; each states what it assumes. All are "higher
is better" and comparable only on the same validation labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tagfill.arrays import Mask
from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import blocks, checked
from tagfill.evaluate.precision import mean_average_precision
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels

_ENOUGH_CLASSES = 0.5


@dataclass(frozen=True)
class Criterion:
    """A criterion to compare models by.

    Args:
        why: the reason for this choice, in one sentence.
        score: (scores [N, K], labels [N, K]) -> metric, higher is better.
    """

    name: str
    why: str
    score: Callable[[npt.ArrayLike, npt.ArrayLike], float]


def full_mean_average_precision(scores: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """The mAP in percent; refuses labels with unknown entries."""
    _refuse_unknown(np.asarray(labels))
    return mean_average_precision(scores, labels).mAP


def known_mean_average_precision(scores: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """The mAP in percent over known entries, of the classes with known positives and negatives.

    A class without known negatives has average precision 1 for any model, so it is left out. Biased
    where entries were not verified at random: annotators are often asked about plausible tags only,
    which makes the known negatives harder than the rest.
    """
    states = np.asarray(labels)
    usable = _has(states, POSITIVE) & _has(states, NEGATIVE)
    return mean_average_precision(np.asarray(scores)[:, usable], states[:, usable]).mAP


def observed_mean_average_precision(scores: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """The mAP in percent with every unknown entry counted as negative.

    If each positive of class k was observed with chance c_k, this expects c_k times the precision
    at every recall, so each class's value is c_k times the true one and the order of models is
    kept. Where the chance depends on the image (one tag per image: crowded images are seen less) it
    favors models that give few tags to an image, such as assume-negative ones.
    """
    states = np.asarray(labels)
    return mean_average_precision(scores, np.where(states == UNKNOWN, NEGATIVE, states)).mAP


def observed_reciprocal_rank(scores: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Mean over observed positives of 1 / (rank of the tag among all classes of its image).

    A positive is ranked only against classes that are not observed positives themselves. Needs no
    negatives, and gives every observed tag the same weight, so frequent classes dominate.
    """
    score_array, states = checked(scores, labels)
    images, classes = np.nonzero(states == POSITIVE)
    if not len(images):
        return float("nan")
    rivals = np.where(states == POSITIVE, -np.inf, score_array)
    ranks = np.empty(len(images))
    for part in blocks(len(images), score_array.shape[1]):
        rows, columns = images[part], classes[part]
        ranks[part] = 1 + (rivals[rows] >= score_array[rows, columns][:, None]).sum(axis=1)
    return float((1.0 / ranks).mean())


CRITERIA: dict[str, Callable[[npt.ArrayLike, npt.ArrayLike], float]] = {
    "mAP": full_mean_average_precision,
    "known_mAP": known_mean_average_precision,
    "observed_mAP": observed_mean_average_precision,
    "observed_reciprocal_rank": observed_reciprocal_rank,
}


def choose_criterion(labels: npt.ArrayLike, *, name: str | None = None) -> Criterion:
    """The right criterion for these validation labels, or the one the user named.

    Args:
        labels: [N, K] of 1, 0, -1, the validation labels as observed.
        name: a name in ``CRITERIA`` to use instead.

    Raises:
        TagfillError: there is no positive to evaluate with, or the name is unknown or does not fit.
    """
    states = np.asarray(labels)
    with_positives = _has(states, POSITIVE)
    if not with_positives.any():
        raise TagfillError(
            "the validation labels have no positive, so models cannot be compared",
            remedy="choose other validation images, or keep the last epoch with --select last",
        )
    if name is not None:
        return _named(name, states)
    if not (states == UNKNOWN).any():
        return Criterion("mAP", "every validation entry is known", CRITERIA["mAP"])
    usable = int((with_positives & _has(states, NEGATIVE)).sum())
    total = int(with_positives.sum())
    if usable >= _ENOUGH_CLASSES * total:
        why = f"{usable} of {total} classes with positives have known negatives too"
        return Criterion("known_mAP", why, CRITERIA["known_mAP"])
    few = f"only {usable}" if usable else "none"
    why = (
        f"{few} of {total} classes with positives have known negatives,"
        " so unknown entries count as negative"
    )
    return Criterion("observed_mAP", why, CRITERIA["observed_mAP"])


def _named(name: str, labels: Labels) -> Criterion:
    if name not in CRITERIA:
        raise TagfillError(
            f"unknown selection criterion {name!r}", remedy=f"use one of {', '.join(CRITERIA)}"
        )
    if name == "mAP":
        _refuse_unknown(labels)
    if name == "known_mAP" and not (_has(labels, POSITIVE) & _has(labels, NEGATIVE)).any():
        raise TagfillError(
            "known_mAP needs a class with known positives and known negatives",
            remedy="use observed_mAP",
        )
    return Criterion(name, "named by the user", CRITERIA[name])


def _refuse_unknown(labels: Labels) -> None:
    if (labels == UNKNOWN).any():
        raise TagfillError(
            "mAP on validation needs every entry known", remedy="use known_mAP or observed_mAP"
        )


def _has(labels: Labels, state: int) -> Mask:
    return np.asarray((labels == state).any(axis=0))
