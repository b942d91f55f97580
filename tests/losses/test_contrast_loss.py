"""Label-aware consistency against slow loops over Eq. 5-7."""

from __future__ import annotations

import math

import pytest
import torch

from tagfill.losses.consistency import label_aware_consistency, supervised_contrast

ANCHORS = torch.tensor([0, 1, 0, 2])
KEYS = torch.tensor([0, 1, 0, 2, 1, 1, 0])


def similarities(rows, columns, seed=0, scale=2.0):
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(rows, columns, generator=generator, dtype=torch.float64)


def slow_consistency(similarity, anchors, keys):
    terms = []
    for k in range(len(anchors)):
        below = sum(
            (similarity[k, t].exp() for t in range(len(keys)) if keys[t] != anchors[k]),
            start=torch.zeros(()),
        )
        term = similarity.new_zeros(())
        for other in range(len(keys)):
            if keys[other] == anchors[k] and below > 0:
                term = term - (similarity[k, other].exp() / below).log()
        terms.append(term)
    return torch.stack(terms)


def slow_contrast(similarity, classes):
    terms = []
    for i in range(len(classes)):
        others = [a for a in range(len(classes)) if a != i]
        positives = [p for p in others if classes[p] == classes[i]]
        term = similarity.new_zeros(())
        if positives:
            below = sum(similarity[i, a].exp() for a in others)
            term = -sum((similarity[i, p].exp() / below).log() for p in positives) / len(positives)
        terms.append(term)
    return torch.stack(terms)


@pytest.mark.parametrize("seed", range(3))
def test_equation_7_against_a_slow_loop_with_gradient(seed):
    similarity = similarities(4, 7, seed).requires_grad_()
    fast = label_aware_consistency(similarity, ANCHORS, KEYS)
    slow = slow_consistency(similarity, ANCHORS, KEYS)
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(
        torch.autograd.grad(fast.sum(), similarity), torch.autograd.grad(slow.sum(), similarity)
    )


@pytest.mark.parametrize("seed", range(3))
def test_supervised_contrast_against_a_slow_loop_with_gradient(seed):
    similarity = similarities(7, 7, seed).requires_grad_()
    fast, slow = supervised_contrast(similarity, KEYS), slow_contrast(similarity, KEYS)
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(
        torch.autograd.grad(fast.sum(), similarity), torch.autograd.grad(slow.sum(), similarity)
    )


def test_gradcheck():
    similarity = similarities(4, 7).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda s: label_aware_consistency(s, ANCHORS, KEYS), (similarity,)
    )
    square = similarities(7, 7).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: supervised_contrast(s, KEYS), (square,))


def test_by_hand():
    similarity = torch.tensor([[2.0, 1.0, 0.0]], dtype=torch.float64)
    term = label_aware_consistency(similarity, torch.tensor([0]), torch.tensor([0, 1, 2]))
    assert term.item() == pytest.approx(-2 + math.log(math.e + 1))


def test_entries_of_one_class_only_cost_nothing():
    similarity = similarities(3, 3).requires_grad_()
    term = label_aware_consistency(similarity, torch.zeros(3), torch.zeros(3))
    assert term.tolist() == [0, 0, 0]
    (slope,) = torch.autograd.grad(term.sum(), similarity)
    assert torch.equal(slope, torch.zeros_like(slope))


def test_one_entry_alone_costs_nothing():
    similarity = similarities(1, 1).requires_grad_()
    for term in (
        label_aware_consistency(similarity, torch.tensor([2]), torch.tensor([2])),
        supervised_contrast(similarity, torch.tensor([2])),
    ):
        assert term.item() == 0
        assert torch.isfinite(torch.autograd.grad(term.sum(), similarity)[0]).all()


def test_no_entry_at_all():
    empty = torch.zeros(0, 0)
    assert label_aware_consistency(empty, torch.zeros(0), torch.zeros(0)).shape == (0,)


@pytest.mark.parametrize("scale", [100.0, -100.0])
def test_finite_at_large_similarities(scale):
    similarity = (scale * similarities(4, 7).sign()).float().requires_grad_()
    terms = label_aware_consistency(similarity, ANCHORS, KEYS)
    assert torch.isfinite(terms).all()
    assert torch.isfinite(torch.autograd.grad(terms.sum(), similarity)[0]).all()


def test_order_of_anchors_and_keys_does_not_matter():
    similarity = similarities(4, 7)
    rows, columns = torch.tensor([2, 0, 3, 1]), torch.arange(7).flip(0)
    torch.testing.assert_close(
        label_aware_consistency(similarity[rows][:, columns], ANCHORS[rows], KEYS[columns]),
        label_aware_consistency(similarity, ANCHORS, KEYS)[rows],
    )


def test_sums_over_a_long_queue_do_not_overflow_half_precision():
    keys = torch.arange(8192) % 2
    similarity = torch.where(keys == 0, -20.0, 20.0)[None].half()
    anchor = torch.tensor([0])
    half = label_aware_consistency(similarity, anchor, keys).float()
    torch.testing.assert_close(half, label_aware_consistency(similarity.float(), anchor, keys))
