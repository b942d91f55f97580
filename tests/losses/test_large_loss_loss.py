"""Large-loss rejection and correction."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from tests.losses.tester import OBSERVED, check_loss, random_logits

from tagfill.losses.assume import assume_negative
from tagfill.losses.selection import (
    large_loss_correction,
    large_loss_rejection,
    modified_count,
)

LOGITS = torch.logit(torch.tensor([[0.8, 0.5, 0.9], [0.6, 0.2, 0.8]], dtype=torch.float64))
LABELS = torch.tensor([[1, -1, 0], [-1, 1, -1]], dtype=torch.int8)


def slow(count, corrected):
    def terms(logits, observed):
        p = logits.sigmoid()
        values = torch.where(observed == 1, -p.log(), -(1 - p).log())
        unknown = [
            (values[i, j].item(), i, j)
            for i in range(observed.shape[0])
            for j in range(observed.shape[1])
            if observed[i, j] == -1
        ]
        values = values.clone()
        for _, i, j in sorted(unknown, reverse=True)[:count]:
            values[i, j] = -p[i, j].log() if corrected else 0 * p[i, j]
        return values

    return terms


@pytest.mark.parametrize("count", [0, 1, 4, 99])
def test_both_satisfy_what_every_loss_must(count):
    check_loss(partial(large_loss_rejection, count=count), slow(count, False), bce_when_full=True)
    check_loss(partial(large_loss_correction, count=count), slow(count, True), bce_when_full=True)


def test_by_hand():
    rejected = large_loss_rejection(LOGITS, LABELS, count=1)
    corrected = large_loss_correction(LOGITS, LABELS, count=2)
    keep = {"dtype": torch.float64}
    torch.testing.assert_close(
        rejected,
        torch.tensor([[0.223144, 0.693147, 2.302585], [0.916291, 1.609438, 0.0]], **keep),
        atol=1e-6,
        rtol=0,
    )
    torch.testing.assert_close(
        corrected,
        torch.tensor([[0.223144, 0.693147, 2.302585], [0.510826, 1.609438, 0.223144]], **keep),
        atol=1e-6,
        rtol=0,
    )


def test_observed_negatives_are_never_modified():
    logits = random_logits(OBSERVED.shape)
    negative = OBSERVED == 0
    for loss in (large_loss_rejection, large_loss_correction):
        changed = loss(logits, OBSERVED, count=OBSERVED.numel())
        assert torch.equal(changed[negative], assume_negative(logits, OBSERVED)[negative])


@pytest.mark.parametrize(
    ("entries", "rate", "count"),
    [
        (320, 0.002, 1),
        (320, 0.004, 2),
        (1000, 0.002, 2),
        (10, 3 * 0.1, 3),
        (10, 0.0, 0),
        (7, 1.0, 7),
    ],
)
def test_count_is_rounded_up_once(entries, rate, count):
    assert modified_count(entries, rate) == count
