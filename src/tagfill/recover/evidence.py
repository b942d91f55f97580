"""What a run knows about the tags nobody wrote: its method's estimates, and unseen images' scores.

A model that was told "not there" about a tag has learnt to repeat it. So probabilities come from
heads trained without the image (out of fold) and, where a method has formed label estimates of its
own, from both: estimates are calibrated on the out-of-fold probabilities, checked to agree with
them on what is likely, and the two log-odds are averaged. Measured on VOC 2012, the mean ranks
missing tags better than either (docs/results/recovery.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.special import expit, logit

from tagfill.evaluate.arrays import Floats
from tagfill.labels.table import UNKNOWN
from tagfill.recover.correct import (
    Mask,
    Presence,
    Unseen,
    align,
    calibrate_to,
    labeling_of,
    presence,
)
from tagfill.recover.crossfit import CrossFit
from tagfill.train.method import begin, make_method
from tagfill.train.save import load_checkpoint

Kind = Literal["estimate", "out_of_fold"]

AGREEMENT = 0.5
"""Estimates that agree less than this with out-of-fold probabilities have not formed."""
CERTAIN = 1e-6
"""No probability is taken to be closer to 0 or 1."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Probabilities of all entries.

    Args:
        kind: what those of unknown entries come from.
        unknown: [N, K] probability that the tag is there although nobody wrote it.
        known: [N, K] probability that it is there, by images left out, whatever was written.
        how: sentences for the user.
    """

    kind: Kind
    unknown: Floats
    known: Floats
    how: tuple[str, ...]


def gather_evidence(crossfit: CrossFit, folds: int, checkpoint: Path | None) -> Evidence:
    """Cross-fit the head, and weigh what the method has estimated against it.

    Without a checkpoint there are no estimates to weigh.
    """
    unseen = out_of_fold(crossfit, folds)
    observed = crossfit.assembly.data.train.table.values
    unknown = observed == UNKNOWN
    formed = iter(()) if checkpoint is None else estimates(crossfit, checkpoint)
    found = [log_odds(each) for each in formed]
    if not found:
        return Evidence("out_of_fold", unseen.unwritten, unseen.there, (unseen.how,))
    scored = [agreement(each, unseen.unwritten, unknown) for each in found]
    best = int(np.argmax(scored))
    if scored[best] < AGREEMENT:
        why = "the method's own estimates have not formed: out-of-fold scores are used instead"
        return Evidence("out_of_fold", unseen.unwritten, unseen.there, (unseen.how, why))
    how = "the method's own estimates, averaged with out-of-fold scores"
    own = calibrate_to(found[best], unseen.unwritten, unknown)
    both = expit((log_odds(own) + log_odds(unseen.unwritten)) / 2)
    return Evidence("estimate", both, unseen.there, (unseen.how, how))


def out_of_fold(crossfit: CrossFit, folds: int) -> Presence:
    """Probabilities of the tags of every training image by heads that have not seen it."""
    data = crossfit.assembly.data
    observed = data.train.table.values
    scores, val_scores = np.empty(observed.shape), []
    for fold in crossfit.folds(folds):
        unseen = Unseen(fold.scores, observed[fold.rows])
        more = [] if fold.val_scores is None else [fold.val_scores]
        scores[fold.rows], *aligned = align(unseen, *more)
        val_scores += aligned
    val = None
    if data.val is not None:
        labels = np.concatenate([data.val.table.values] * len(val_scores))
        val = Unseen(np.concatenate(val_scores), labels)
    train = Unseen(scores, observed)
    return presence(train, labeling_of(train, crossfit.assembly.pooled_features()), val)


def estimates(crossfit: CrossFit, checkpoint: Path) -> Iterator[Floats]:
    """[N, K] what the method believed at its best epoch, and at its last; nothing if it cannot say.

    Label estimates may go on improving when the classifier no longer does.
    """
    stage = crossfit.assembly.config.stages[-1]
    method = make_method(stage)
    seed, device = crossfit.assembly.config.seed, crossfit.accelerator.device
    begin(method, stage, crossfit.data[-1], crossfit.positives, seed=seed, device=device)
    if method.estimates() is None:
        return
    groups, _ = load_checkpoint(checkpoint)
    for state in (groups[name] for name in ("best_method", "method") if name in groups):
        method.load_state(state)
        found = method.estimates()
        if found is not None:
            yield found.double().cpu().numpy()


def log_odds(probability: Floats) -> Floats:
    """Finite even where the probability is 0 or 1."""
    odds: Floats = logit(np.clip(probability, CERTAIN, 1 - CERTAIN))
    return odds


def agreement(scores: Floats, reference: Floats, unknown: Mask) -> float:
    """How well scores rank unknown entries: 1 in the reference's own order, 0 in any order.

    It is the average precision to be expected of the order, between these two.
    """
    chances = reference[unknown]
    if not len(chances):
        return 0.0
    best, any_order = _expected_average_precision(chances, chances), float(chances.mean())
    reached = _expected_average_precision(scores[unknown], chances)
    return (reached - any_order) / (best - any_order) if best > any_order else 0.0


def _expected_average_precision(scores: Floats, chances: Floats) -> float:
    found = chances[np.argsort(-scores, kind="stable")]
    precision = np.cumsum(found) / np.arange(1, len(found) + 1)
    return float((found * precision).sum() / found.sum())
