from __future__ import annotations

import torch
from tests.losses.tester import check_loss, random_logits

from tagfill.losses.assume import pairwise_ranking


def double_loop(logits, observed):
    p = torch.sigmoid(logits)
    total = torch.zeros_like(p)
    for n in range(p.shape[0]):
        for i in range(p.shape[1]):
            for j in range(p.shape[1]):
                if observed[n, i] == 1 and observed[n, j] != 1:
                    total[n, i] = total[n, i] + (1 - p[n, i] + p[n, j]).clamp(min=0)
    return total


def test_pairwise_ranking_is_the_double_loop():
    check_loss(pairwise_ranking, double_loop)


def test_by_hand():
    logits = torch.log(torch.tensor([[0.8, 0.5, 0.2]]) / torch.tensor([[0.2, 0.5, 0.8]]))
    observed = torch.tensor([[1, -1, 0]])
    torch.testing.assert_close(
        pairwise_ranking(logits, observed), torch.tensor([[0.7 + 0.4, 0.0, 0.0]])
    )


def test_no_pairs_without_positives_or_without_others():
    logits = random_logits((2, 3))
    assert (pairwise_ranking(logits, torch.full((2, 3), -1)) == 0).all()
    assert (pairwise_ranking(logits, torch.full((2, 3), 1)) == 0).all()


def test_never_holds_all_pairs():
    """[B, K, K] for these shapes would be 27 GB."""
    logits = torch.zeros(64, 10_000, requires_grad=True)
    observed = torch.full((64, 10_000), -1, dtype=torch.int8)
    observed[:, :300] = 1
    pairwise_ranking(logits, observed).sum().backward()
    assert torch.isfinite(logits.grad).all()
