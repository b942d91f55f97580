"""Curriculum labeling: which entries get a label, when, and what they weigh."""

from __future__ import annotations

import math

import pytest
import torch
from tests.methods.harness import Rehearsal, known_proportion, make_truth, single_positive

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.methods.base import Setup, Step
from tagfill.methods.curriculum import pseudo_labeled
from tagfill.models.output import Output

OBSERVED = torch.tensor([[1, -1, -1, -1], [-1, 0, -1, -1]], dtype=torch.int8)
LOGITS = torch.tensor([[-9.0, 2.5, -2.5, 0.5], [3.0, 9.0, -1.0, -4.0]])
RULE = {"theta": 2.0, "share": 0.5}


def label(strategy):
    return pseudo_labeled(OBSERVED, LOGITS, strategy=strategy, **RULE).tolist()


def started(**settings):
    method = methods.make("curriculum", settings)
    method.start(Setup(observed=OBSERVED, epochs=3, steps_per_epoch=1))
    return method


def test_threshold_labels_both_kinds_and_no_observed_entry():
    assert label("threshold") == [[1, 1, 0, -1], [1, 0, -1, 0]]


def test_positives_only():
    assert label("positives") == [[1, 1, -1, -1], [1, 0, -1, -1]]


def test_proportion_takes_the_surest_half_of_six():
    assert label("proportion") == [[1, 1, -1, -1], [1, 0, -1, 0]]


def test_loss_weighs_images_by_their_share_of_labels():
    method = started()
    logits = torch.zeros(2, 4)
    step = Step(Output(logits), OBSERVED, torch.arange(2), epoch=1, step=0)
    weight = 5.45 - 4.45 / 4
    assert method.loss(step)["curriculum"].item() == pytest.approx(weight * math.log(2) / 4)
    method.after_epoch(1, LOGITS.sigmoid())
    weight = 5.45 - 4.45 * 3 / 4
    assert method.loss(step)["curriculum"].item() == pytest.approx(
        weight * 3 * math.log(2) / 4, rel=1e-5
    )


def test_labels_are_made_afresh_after_every_epoch_past_the_warm_up():
    method = started(warmup=2)
    method.after_epoch(1, LOGITS.sigmoid())
    assert torch.equal(method.labels, OBSERVED)
    method.after_epoch(2, LOGITS.sigmoid())
    assert method.labels.tolist() == label("threshold")
    method.after_epoch(3, torch.full((2, 4), 0.5))
    assert torch.equal(method.labels, OBSERVED), "nothing is sure any more"


def test_estimates_are_the_last_scores():
    method = started()
    assert method.estimates()[0].tolist() == [1.0, 0.5, 0.5, 0.5]
    method.after_epoch(1, LOGITS.sigmoid())
    assert method.estimates()[1, 1] == 0
    assert method.estimates()[1, 0] == pytest.approx(torch.tensor(3.0).sigmoid().item())


def test_pseudo_labels_mostly_agree_with_the_truth():
    truth = make_truth()
    observed = known_proportion(truth)
    rehearsal = Rehearsal("curriculum", observed, settings={"theta": 1.0})
    for _ in range(8):
        rehearsal.epoch()
    labels = rehearsal.method.labels
    fresh = (observed == -1) & (labels >= 0)
    assert fresh.sum() > 10
    assert (labels[fresh] == truth[fresh]).float().mean() > 0.9


def test_positive_only_labels_are_refused():
    with pytest.raises(TagfillError, match="curriculum cannot start: it needs observed negatives"):
        Rehearsal("curriculum", single_positive(make_truth()))
