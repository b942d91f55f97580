"""Pseudo-labels of one view as targets of the other."""

from __future__ import annotations

import math

import torch
from tests.losses.tester import OBSERVED, check_loss, random_logits

from tagfill.losses.consistency import confident_labels, pseudo_label_consistency

WEAK = 3 * random_logits(OBSERVED.shape, seed=7)


def of_strong(**settings):
    """The loss as a function of the strong view, the weak view moving along with it."""

    def loss(strong, observed):
        weak = WEAK.to(strong.dtype)
        if not torch.equal(observed, OBSERVED):
            rows, columns = torch.arange(5).flip(0), torch.arange(4).roll(1)
            weak = weak[rows][:, columns]
        return pseudo_label_consistency(strong, weak, observed, threshold=0.8, **settings)[0]

    return loss


def test_equation_4_on_unknown_entries_only():
    def plain(strong, observed):
        p_s, p_w = strong.sigmoid(), WEAK.sigmoid()
        unknown = observed == -1
        sure, absent = unknown & (p_w >= 0.8), unknown & (p_w <= 0.2)
        return -p_s.log() * sure - (1 - p_s).log() * absent

    check_loss(of_strong(), plain)


def test_published_code_adds_observed_labels():
    def plain(strong, observed):
        p_s = strong.sigmoid()
        score = WEAK.sigmoid() + (observed == 1)
        score = torch.where(observed == 0, 0.0, score)
        mask = (score >= 0.8) | (score < 0.2)
        target = (score >= 0.8).double()
        return mask * (-target * p_s.log() - (1 - target) * (1 - p_s).log())

    check_loss(of_strong(include_observed=True), plain)


def test_by_hand():
    weak = torch.logit(torch.tensor([[0.95, 0.5, 0.05, 0.99]], dtype=torch.float64))
    strong = torch.logit(torch.tensor([[0.6, 0.6, 0.6, 0.6]], dtype=torch.float64))
    observed = torch.tensor([[-1, -1, -1, 1]])
    entries, chosen = pseudo_label_consistency(strong, weak, observed, threshold=0.9)
    expected = torch.tensor([[-math.log(0.6), 0.0, -math.log(0.4), 0.0]], dtype=torch.float64)
    torch.testing.assert_close(entries, expected)
    assert chosen.tolist() == [[True, False, True, False]]


def test_the_labeling_view_gets_no_gradient():
    weak = WEAK.clone().requires_grad_()
    strong = random_logits(OBSERVED.shape).requires_grad_()
    pseudo_label_consistency(strong, weak, OBSERVED, threshold=0.6)[0].sum().backward()
    assert weak.grad is None
    assert strong.grad.abs().sum() > 0


def test_labels_keep_code_and_observed_entries():
    labels = confident_labels(WEAK, OBSERVED, threshold=0.8, include_observed=True)
    assert labels.dtype == OBSERVED.dtype
    known = OBSERVED >= 0
    assert torch.equal(labels[known], OBSERVED[known])
    left_out = confident_labels(WEAK, OBSERVED, threshold=0.8)
    assert (left_out[known] == -1).all()
    assert torch.equal(left_out[~known], labels[~known])


def test_half_as_threshold_labels_every_unknown_entry():
    labels = confident_labels(
        torch.tensor([[0.0, -1e-3, 1e-3]]), torch.full((1, 3), -1), threshold=0.5
    )
    assert labels.tolist() == [[1, 0, 1]]
