"""How likely an entry was to be labeled given what it truly is: what incomplete labels hide.

A tag that is often present but rarely written looks rare. Knowing how rarely it is written turns
frequencies of observed tags into frequencies of tags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import Floats, Scores, blocks, checked, sigmoid
from tagfill.evaluate.counts import Counts
from tagfill.evaluate.sigmoid_fit import (
    Chance,
    Entries,
    Line,
    fit_line,
    fit_line_and_chances,
    one_thread,
)
from tagfill.labels.regime import Regime
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels

SAMPLE = 1_000_000
"""Entries used to estimate chances; of more, images are taken at regular steps."""
_EVIDENCE = 5.0
"""Log likelihood that different rates for positives and negatives must gain over one rate."""
_ROUNDS, _STILL = 40, 1e-4
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_LEAST = 1e-3


@dataclass(frozen=True, eq=False)
class Labeling:
    """The chance that an entry's label came to be known.

    Args:
        regime: what was assumed.
        positive: that a positive entry is labeled: one number, or [N, K].
        negative: that a negative entry is labeled; 0 where negatives are never written.
        rate: share of all positives that are labeled.
    """

    regime: Regime
    positive: Chance
    negative: float
    rate: float

    def entries(self, scores: Scores, labels: Labels, column: int | None = None) -> Entries:
        """The entries that say something of one class, or of all."""
        at = slice(None) if column is None else column
        states = labels[:, at].ravel()
        chance = self.positive
        if isinstance(chance, np.ndarray) and chance.ndim:
            chance = chance[:, at].ravel()
        found = Entries(scores[:, at].ravel().astype(np.float64), states, chance, self.negative)
        informative = states != UNKNOWN
        if self.regime in (Regime.FULL, Regime.PARTIAL):
            return found.select(informative)
        return found.select(informative | (np.asarray(chance) > 0))

    def weights(self, labels: Labels) -> tuple[Floats, Floats]:
        """[N, K] what each entry adds to the expected true and false positives if it is predicted.

        A labeled positive stands for 1 / chance positives. Where negatives are never written, the
        false positives are all predicted entries less the expected true ones.
        """
        positive = labels == POSITIVE
        chance = np.broadcast_to(np.asarray(self.positive, dtype=np.float64), labels.shape)
        hit = np.where(positive, 1.0 / np.maximum(chance, _LEAST), 0.0)
        if self.negative > 0:
            return hit, np.where(labels == NEGATIVE, 1.0 / self.negative, 0.0)
        return hit, (chance > 0) - hit

    def counts(self, decided: npt.ArrayLike, labels: npt.ArrayLike) -> Counts:
        """Expected right and wrong decisions, class by class."""
        given, states = np.asarray(decided, dtype=bool), np.asarray(labels)
        hit, miss = self.weights(states)
        found = np.where(given, hit, 0.0).sum(axis=0)
        return Counts(
            found,
            np.maximum(np.where(given, miss, 0.0).sum(axis=0), 0.0),
            hit.sum(axis=0) - found,
        )

    def as_dict(self) -> dict[str, Any]:
        """What to tell the user."""
        return {"regime": self.regime, "labeling_rate": self.rate}


def estimate_labeling(
    logits: npt.ArrayLike, labels: npt.ArrayLike, *, rate: float | None = None
) -> Labeling:
    """How likely positives and negatives were to be labeled.

    - No unknown entry: certain.
    - Positives and negatives: P(labeled positive) = c p(x) and P(labeled negative) = d (1 - p(x))
      with p(x) = sigmoid(slope x + bias), all four by maximum likelihood; c = d unless the labels
      clearly say otherwise.
    - Positives only: the same with d = 0. Every positive has the same chance c (selected completely
      at random: Elkan and Noto 2008); c is what p(x) saturates at.
    - One positive in each image, nothing else: a tag is written with chance 1 / (number of tags of
      the image), tags being independent given the image. Solved with p(x) in turns. Images without
      a tag say nothing.

    Args:
        logits: [N, K] of images the model was not trained on.
        labels: [N, K] of 1, 0, -1.
        rate: the share of positives that are labeled, where it is known; labels must be
            positives only.

    Raises:
        TagfillError: no entry is known to be positive, or the rate does not fit.
    """
    scores, states = checked(logits, labels)
    positive, negative = (int((states == state).sum()) for state in (POSITIVE, NEGATIVE))
    if not positive:
        raise TagfillError("nothing can be fitted to labels without a positive")
    if rate is not None:
        return _given(rate, negative)
    if positive + negative == states.size:
        return Labeling(Regime.FULL, 1.0, 1.0, 1.0)
    step = max(1, -(-states.size // SAMPLE))
    sample, known = scores[::step].astype(np.float64), states[::step]
    with one_thread():
        if _one_each(states):
            return _single(scores, states, sample, known)
        if negative:
            return _partly_known(sample, known)
        chance = fit_line_and_chances(sample.ravel(), known.ravel()).positive
    return Labeling(Regime.POSITIVE_ONLY, chance, 0.0, chance)


def writing_chance(probabilities: Floats) -> Floats:
    """[N, K] E[1 / (1 + number of other tags)] for independent tags.

    With s the number of others, E[1 / (1 + s)] is the integral over 0 < t < 1 of the product of
    1 - p_j + p_j t over all other tags j.
    """
    chance = np.zeros_like(probabilities)
    for part in blocks(len(probabilities), probabilities.shape[1]):
        p = np.minimum(probabilities[part], 1 - 1e-12)
        for node, weight in zip((_NODES + 1) / 2, _WEIGHTS / 2, strict=True):
            logs = np.log1p(-p * (1 - node))
            chance[part] += weight * np.exp(logs.sum(axis=1, keepdims=True) - logs)
    return chance


def _given(rate: float, negative: int) -> Labeling:
    if not 0 < rate <= 1:
        raise TagfillError(f"a labeling rate of {rate:g} is not in 0 to 1")
    if negative:
        raise TagfillError("a labeling rate can be given for positive-only labels alone")
    return Labeling(Regime.POSITIVE_ONLY, rate, 0.0, rate)


def _partly_known(scores: Floats, labels: Labels) -> Labeling:
    known = labels != UNKNOWN
    share = float(known.mean())
    even = Entries(scores[known], labels[known], share, share)
    cost = even.cost(fit_line(even))[0]
    cost -= known.sum() * np.log(share) + (~known).sum() * np.log1p(-share)
    joint = fit_line_and_chances(scores.ravel(), labels.ravel())
    if cost - joint.cost < _EVIDENCE:
        return Labeling(Regime.PARTIAL, share, share, share)
    return Labeling(Regime.UNEVEN, joint.positive, joint.negative, joint.positive)


def _one_each(labels: Labels) -> bool:
    """Whether images have one positive each, and negatives, if any, in the same number each."""
    positives, negatives = ((labels == state).sum(axis=1) for state in (POSITIVE, NEGATIVE))
    labeled = negatives[positives > 0]
    return bool(positives.max() == 1 and labeled.min() == negatives.max())


def _single(scores: Scores, labels: Labels, sample: Floats, known: Labels) -> Labeling:
    asked = (known == POSITIVE).any(axis=1)
    sample, known = sample[asked], known[asked]
    positives, negatives = (int((known == state).sum()) for state in (POSITIVE, NEGATIVE))
    line, chance, negative, rate = Line(1.0, 0.0), np.ones(known.size), 0.0, 0.0
    for _ in range(_ROUNDS):
        line = fit_line(Entries(sample.ravel(), known.ravel(), chance, negative), start=line)
        probabilities = sigmoid(line(sample))
        chance = writing_chance(probabilities).ravel()
        negative = float(negatives / (1 - probabilities).sum())
        before, rate = rate, float(positives / probabilities.sum())
        if abs(rate - before) < _STILL:
            break
    everywhere = writing_chance(sigmoid(line(scores)))
    everywhere[~(labels == POSITIVE).any(axis=1)] = 0.0
    return Labeling(Regime.SINGLE_POSITIVE, everywhere, negative, min(rate, 1.0))
