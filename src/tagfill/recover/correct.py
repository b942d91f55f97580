"""Scores into probabilities, corrected for what the labels leave out.

A score that comes from images the model has not seen can be held against the labels of its image.
Where some cells are known to be negative, a class's scores are calibrated on its known cells. Where
only positives are known, a tag that is there with probability p was written with c p, c being the
share of positives that get written: a logistic curve below that ceiling is fitted to what was
written. Where nobody wrote the tag, it is there with

    p (1 - c) / (1 - c p)

Elkan and Noto 2008, Sec. 2 and 4; the ceiling after Jaskie et al. 2019.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit

from tagfill.evaluate.arrays import Floats
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels

Mask = npt.NDArray[np.bool_]

RIDGE = 10.0
"""Pull of a class's curve towards that of all classes."""
CERTAIN = 1e-6
"""No probability is closer to 0 or 1."""


@dataclass(frozen=True, eq=False)
class Curves:
    """Logistic calibration of every class: probability = sigmoid(slope * score + offset).

    Platt 1999, with the parameters of rare classes drawn towards those of all classes together.
    """

    slope: Floats
    offset: Floats

    def __call__(self, scores: Floats) -> Floats:
        """[N, K] scores to probabilities."""
        chances: Floats = expit(self.slope * scores + self.offset)
        return chances


def fit_curves(scores: Floats, targets: Floats, used: Mask, ceiling: float = 1.0) -> Curves:
    """Calibrate every class on some of its cells.

    Args:
        scores: [N, K] in any unit.
        targets: [N, K] 0, 1, or a probability.
        used: [N, K] the cells to fit to.
        ceiling: c, where a target is 1 for no more than this share of what the curve is to find:
            targets are drawn with probability c * curve.
    """
    centre, scale = float(scores.mean()), float(scores.std()) or 1.0
    units = (scores - centre) / scale
    one = (-1, 1)
    common = _fit(units.reshape(one), targets.reshape(one), used.reshape(one), np.zeros(2), ceiling)
    start = np.repeat(common, units.shape[1])
    slope, offset = np.split(_fit(units, targets, used, start, ceiling), 2)
    return Curves(slope / scale, offset - slope * centre / scale)


def _fit(units: Floats, targets: Floats, used: Mask, start: Floats, ceiling: float) -> Floats:
    """[2 K] slopes and offsets of the highest likelihood, drawn towards where they start."""

    def objective(parameters: Floats) -> tuple[float, Floats]:
        slope, offset = np.split(parameters, 2)
        curve = np.clip(expit(slope * units + offset), CERTAIN, 1 - CERTAIN)
        chance = ceiling * curve
        costs = -targets * np.log(chance) - (1 - targets) * np.log1p(-chance)
        residual = (1 - curve) * ((1 - targets) * chance / (1 - chance) - targets)
        residual = np.where(used, residual, 0.0)
        away = parameters - start
        gradient = np.concatenate([(residual * units).sum(axis=0), residual.sum(axis=0)])
        return float(costs[used].sum() + RIDGE / 2 * away @ away), gradient + RIDGE * away

    found = minimize(objective, start, jac=True, method="L-BFGS-B")
    parameters: Floats = found.x
    return parameters


@dataclass(frozen=True, eq=False)
class Presence:
    """Probabilities that tags are there.

    Args:
        there: [N, K] whatever was written.
        unwritten: [N, K] given that nobody wrote it.
        how: one sentence for the user.
    """

    there: Floats
    unwritten: Floats
    how: str


@dataclass(frozen=True, eq=False)
class Unseen:
    """Scores of images whose labels had no part in them, and those labels."""

    scores: Floats
    labels: Labels

    @property
    def has_negatives(self) -> bool:
        """Whether it can be calibrated on as it is."""
        return bool((self.labels == NEGATIVE).any())


def align(fold: Unseen, *more: Floats) -> list[Floats]:
    """Bring the scores of different models to one scale: the log-odds of a written tag.

    Args:
        fold: what the model says of images left out, and their labels.
        more: [M, K] scores of the same model for other images.

    Returns:
        The fold's scores and the others'.
    """
    written = _targets(fold.labels).reshape(-1, 1)
    every = np.ones(written.shape, dtype=bool)
    curve = fit_curves(fold.scores.reshape(-1, 1), written, every)
    return [curve.slope * each + curve.offset for each in (fold.scores, *more)]


def presence(train: Unseen, share: float, val: Unseen | None = None) -> Presence:
    """Probabilities of the tags of training images.

    Args:
        train: scores of models that have not seen the image.
        share: c, the share of positives that were written; 0 where cells are known whatever their
            label, so that a missing label says nothing.
        val: other images to calibrate on, where the training images have no known negatives.
    """
    if share == 0:
        there = _calibrated_on(train)(train.scores)
        how = "calibrated on the known labels"
    elif val is not None and val.has_negatives:
        there = _calibrated_on(val)(train.scores)
        how = "calibrated on the validation labels"
    else:
        every = np.ones(train.labels.shape, dtype=bool)
        there = fit_curves(train.scores, _targets(train.labels), every, share)(train.scores)
        how = "calibrated on what was written"
    there = np.clip(there, CERTAIN, 1 - CERTAIN)
    if share:
        how += f"; about {share:.0%} of the tags that are there seem to be written"
    return Presence(there, there * (1 - share) / (1 - share * there), how)


def _calibrated_on(known: Unseen) -> Curves:
    return fit_curves(known.scores, _targets(known.labels), known.labels != UNKNOWN)


def _targets(labels: Labels) -> Floats:
    targets: Floats = (labels == POSITIVE).astype(np.float64)
    return targets
