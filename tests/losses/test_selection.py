"""Which entries are chosen, and logits of boosted maps."""

from __future__ import annotations

import torch
from tests.losses.tester import OBSERVED, random_logits

from tagfill.losses.selection import largest_unknown, likely_or_common, lowest_per_class
from tagfill.models.plain_heads import boosted_logits


def test_lowest_per_class_against_a_slow_loop():
    generator = torch.Generator().manual_seed(0)
    scores = torch.rand(40, 3, generator=generator)
    candidates = torch.rand(40, 3, generator=generator) < 0.5
    counts = torch.tensor([0, 7, 99])
    chosen = lowest_per_class(scores, candidates, counts)
    for k in range(3):
        rows = sorted((scores[n, k].item(), n) for n in range(40) if candidates[n, k])
        wanted = {n for _, n in rows[: counts[k]]}
        assert set(torch.nonzero(chosen[:, k]).flatten().tolist()) == wanted


def test_lowest_per_class_breaks_ties_by_order():
    chosen = lowest_per_class(torch.zeros(4, 1), torch.ones(4, 1, dtype=bool), torch.tensor([2]))
    assert chosen.flatten().tolist() == [True, True, False, False]


def test_largest_unknown_ranks_unknown_entries_only():
    logits = torch.tensor([[9.0, 3.0, 1.0], [8.0, 2.0, -1.0]])
    labels = torch.tensor([[1, -1, -1], [0, -1, -1]])
    assert largest_unknown(logits, labels, 2).tolist() == [
        [False, True, False],
        [False, True, False],
    ]
    assert largest_unknown(logits, labels, 99).sum() == 4
    assert not largest_unknown(logits, labels, 0).any()
    assert not largest_unknown(logits, labels.clamp(min=0), 3).any()


def test_likely_or_common_is_the_union_of_both_reasons():
    logits = random_logits(OBSERVED.shape)
    prior = torch.tensor([0.1, 0.6, 0.5, 0.0])
    left_out = likely_or_common(logits, OBSERVED, prior, per_image=1, prior_threshold=0.5)
    likely = largest_unknown(logits, OBSERVED, len(OBSERVED))
    common = torch.zeros_like(likely)
    common[:, 1] = OBSERVED[:, 1] == -1
    assert torch.equal(left_out, likely | common)
    assert not left_out[OBSERVED != -1].any()


def test_boosted_logits_by_hand():
    maps = torch.tensor([[[[1.0, -2.0], [3.0, 0.0]], [[-1.0, -1.0], [-1.0, -1.0]]]])
    assert boosted_logits(maps, alpha=5).tolist() == [[4.5, -1.0]]
    assert torch.equal(boosted_logits(maps, alpha=1), maps.mean((2, 3)))


def test_boosted_logits_gradient_is_scaled_where_positive():
    maps = torch.tensor([[[[2.0, -2.0]]]], dtype=torch.float64, requires_grad=True)
    boosted_logits(maps, alpha=5).sum().backward()
    assert maps.grad.flatten().tolist() == [2.5, 0.5]
    assert torch.autograd.gradcheck(lambda values: boosted_logits(values, alpha=5), (maps,))
