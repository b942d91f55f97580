from __future__ import annotations

import pytest
import torch
from tests.losses.tester import OBSERVED, check_loss

from tagfill.losses.assume import count_weight, durand_weight, partial_cross_entropy


def plain(weight):
    def loss(logits, observed):
        p, total = torch.sigmoid(logits), torch.zeros_like(logits)
        for row in range(len(observed)):
            known = int((observed[row] >= 0).sum())
            for column in range(observed.shape[1]):
                if observed[row, column] == 1:
                    total[row, column] = -weight(known / observed.shape[1]) * p[row, column].log()
                if observed[row, column] == 0:
                    rest = 1 - p[row, column]
                    total[row, column] = -weight(known / observed.shape[1]) * rest.log()
        return total

    return loss


def test_weighted_by_the_share_of_known_entries():
    check_loss(
        lambda logits, observed: partial_cross_entropy(logits, observed, count_weight(observed)),
        plain(lambda share: share),
        bce_when_full=True,
    )


def test_weighted_as_by_durand():
    check_loss(
        lambda logits, observed: partial_cross_entropy(logits, observed, durand_weight(observed)),
        plain(lambda share: 5.45 - 4.45 * share),
        bce_when_full=True,
    )


def test_weights_by_hand():
    observed = torch.full((3, 10), -1)
    observed[1, 0] = 1
    observed[2] = 0
    assert count_weight(observed).flatten().tolist() == pytest.approx([0, 0.1, 1])
    assert durand_weight(observed).flatten().tolist() == pytest.approx([0, 5.005, 1])
    assert count_weight(OBSERVED).shape == (len(OBSERVED), 1)
