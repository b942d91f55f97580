"""Scores of unseen images into probabilities that tags are there, given that nobody wrote them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tagfill.evaluate import Labeling, apply_calibration, estimate_labeling, fit_calibration
from tagfill.evaluate.arrays import Floats
from tagfill.labels.regime import Regime
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels
from tagfill.priors import estimate_prior

Mask = npt.NDArray[np.bool_]

NEARLY_ALL = 0.99
"""At most this share of positives is taken to be written: else nothing would be left to find."""
_SEED = 1200


@dataclass(frozen=True, eq=False)
class Unseen:
    """Scores of images whose labels had no part in them, and those labels."""

    scores: Floats
    labels: Labels

    @property
    def speaks_for_negatives(self) -> bool:
        """Whether known negatives can stand for all others.

        Negatives fewer than positives are answers to suggestions, or a few exclusions.
        """
        return bool((self.labels == NEGATIVE).sum() > (self.labels == POSITIVE).sum())

    @property
    def positives_only(self) -> Labels:
        """The labels with only their positives known."""
        return np.where(self.labels == POSITIVE, POSITIVE, UNKNOWN).astype(np.int8)


@dataclass(frozen=True, eq=False)
class Presence:
    """Probabilities that tags are there.

    Args:
        there: [N, K] whatever was written.
        unwritten: [N, K] given that nobody labeled the entry.
        how: one sentence for the user.
    """

    there: Floats
    unwritten: Floats
    how: str


def align(fold: Unseen, *more: Floats) -> list[Floats]:
    """Bring the scores of different models to one scale: the log-odds of a written tag.

    Args:
        fold: what the model says of images left out, and their labels.
        more: [M, K] scores of the same model for other images.

    Returns:
        The fold's scores and the others'.
    """
    written = (fold.labels == POSITIVE).astype(np.int8)
    line = fit_calibration(fold.scores.reshape(-1, 1), written.reshape(-1, 1))
    return [line["slope"][0] * each + line["bias"][0] for each in (fold.scores, *more)]


def presence(train: Unseen, labeling: Labeling, val: Unseen | None = None) -> Presence:
    """Probabilities of the tags of training images.

    With c and d the chances that a positive and a negative come to be labeled, an unlabeled tag
    is there with p (1 - c) / (p (1 - c) + (1 - p) (1 - d)); for positives only, where d = 0, see
    Elkan and Noto 2008, Sec. 4.

    Args:
        train: scores of models that have not seen the image.
        labeling: how their labels came to be known.
        val: other images to calibrate on where no training entry is known to be negative.
    """
    on_val = (
        labeling.regime == Regime.POSITIVE_ONLY and val is not None and val.speaks_for_negatives
    )
    if on_val and val is not None:
        calibration = fit_calibration(val.scores, val.labels)
    else:
        labels = train.positives_only if labeling.regime == Regime.POSITIVE_ONLY else train.labels
        calibration = fit_calibration(train.scores, labels, labeling=labeling)
    there = apply_calibration(train.scores, calibration)
    hidden = there * (1 - np.asarray(labeling.positive))
    absent = (1 - there) * (1 - labeling.negative)
    unwritten = hidden / np.maximum(hidden + absent, np.finfo(np.float64).tiny)
    source = "validation labels" if on_val else "what was labeled"
    how = f"calibrated on {source}; about {labeling.rate:.0%} of the positives seem to be labeled"
    return Presence(there, unwritten, how)


def labeling_of(train: Unseen, features: npt.NDArray[np.floating]) -> Labeling:
    """How the labels of the training images came to be known.

    For positives only the share that was written is estimated from features, which finds missing
    tags with better calibrated probabilities than estimates from scores do (measured on VOC 2012
    and on scenes, single positives).

    Args:
        train: scores of unseen images and their labels.
        features: [N, D] pooled features of the images.
    """
    if train.speaks_for_negatives:
        return estimate_labeling(train.scores, train.labels)
    expected = estimate_prior(train.positives_only, features=features).expected_positives
    written = (train.labels == POSITIVE).sum() / (expected * len(train.labels))
    share = float(min(written, NEARLY_ALL))
    return Labeling(Regime.POSITIVE_ONLY, share, 0.0, share)


def calibrate_to(scores: Floats, reference: Floats, unknown: Mask) -> Floats:
    """Scores as probabilities whose mean at every level is that of a reference.

    Calibration is fitted to labels drawn from the reference.

    Args:
        scores: [N, K].
        reference: [N, K] probabilities.
        unknown: [N, K] the entries to fit to.
    """
    draws = np.random.default_rng(_SEED).random(reference.shape) < reference
    labels = np.where(unknown, draws, UNKNOWN).astype(np.int8)
    if not (labels == POSITIVE).any():
        return np.zeros(scores.shape)
    even = Labeling(Regime.PARTIAL, 1.0, 1.0, 1.0)
    return apply_calibration(scores, fit_calibration(scores, labels, labeling=even))
