"""Scores of training images by heads that have not seen them, as if they were held out.

Where validation labels are incomplete, few images with a tag or two say little about how labels
were written. The training images say it too, if they are scored out of fold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tagfill.arrays import Numbers
from tagfill.labels import UNKNOWN
from tagfill.labels.stats import Regime
from tagfill.linear.basis import is_large
from tagfill.linear.choice import SMOOTHING, Choice
from tagfill.linear.fit import default_folds, out_of_fold
from tagfill.linear.regions import whole
from tagfill.models.heads import configure_head
from tagfill.models.plain_heads import LinearConfig
from tagfill.priors import regime_of
from tagfill.priors.written import SAMPLE, explains
from tagfill.train.config import RunConfig
from tagfill.train.data import Split
from tagfill.train.limits import Interrupted
from tagfill.train.model import Assembly

OUT_OF_FOLD = "out_of_fold"
"""Name of the file of scores in a run folder."""


def chosen(config: RunConfig, solved: Any) -> Choice | None:
    """What the learner chose, if the run's head was solved on the features as they are."""
    model = config.model
    head = configure_head(model.head, model.head_settings, model.head_preset)
    changed = isinstance(head, LinearConfig) and (head.power != 1 or head.unit)
    if len(config.stages) > 1 or changed or not isinstance(solved, dict):
        return None
    return Choice.from_dict(solved)


def out_of_fold_scores(assembly: Assembly, choice: Choice | None, val: Split) -> Numbers | None:
    """[N, K] logits of the training images; None where validation images say enough alone.

    Args:
        choice: how the run's own head was fitted.
        val: complete labels, or very many, need no others; nor do labels of another regime help.
    """
    train = assembly.data.train.table
    incomplete = bool((val.eval_labels == UNKNOWN).any())
    if choice is None or choice.smoothing != SMOOTHING or not incomplete:
        return None
    if val.eval_labels.size >= SAMPLE or not _alike(train.values, val.eval_labels):
        return None
    features = assembly.head_features()
    folds = default_folds(features)
    observed = torch.from_numpy(np.array(train.values))
    if is_large(whole(features)) or len(train) < folds or not explains(choice, observed):
        return None
    done = 0

    def fitted() -> None:
        nonlocal done
        done += 1
        assembly.events.progress(done, folds, "out of fold")
        if assembly.limits.stop_requested:
            raise Interrupted("out of fold")

    return out_of_fold(
        features,
        train.values,
        choice,
        reviewed=train.reviewed,
        folds=folds,
        seed=assembly.config.seed,
        fitted=fitted,
    )


def _alike(*tables: np.ndarray[Any, np.dtype[np.int8]]) -> bool:
    """Whether entries are known at random in all of them, or in none."""
    return len({regime_of(labels) == Regime.PARTIAL for labels in tables}) == 1
