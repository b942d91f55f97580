from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from tests.losses.tester import (
    FULL,
    OBSERVED,
    check_finite,
    check_gradient,
    check_loss,
    check_value,
    gradient,
    random_logits,
)

from tagfill.losses.assume import (
    assume_negative,
    assume_negative_smoothed,
    ignore_unknown,
    ignore_unknown_smoothed,
    ignore_unobserved_negatives,
    sample_unknown,
    sampled_negative,
    weak_negative,
)
from tagfill.losses.terms import negative_term, positive_term

LOG2, LOG3 = math.log(2), math.log(3)
LOGITS = torch.tensor([[0.0, 0.0, LOG3], [LOG3, -LOG3, 0.0]])
"""p = 1/2, 1/2, 3/4 and 3/4, 1/4, 1/2."""
LABELS = torch.tensor([[1, 0, -1], [-1, 1, 0]])
LOG4, LOG43 = math.log(4), math.log(4 / 3)


def plain(positive, negative, unknown):
    """A loss by the three weights its entries have: (of -log p, of -log(1 - p)) each."""

    def loss(logits, observed):
        p = torch.sigmoid(logits)
        total = torch.zeros_like(p)
        for value, (up, down) in ((1, positive), (0, negative), (-1, unknown)):
            total = total + (observed == value) * (-up * p.log() - down * (1 - p).log())
        return total

    return loss


def test_ignore_unknown():
    check_loss(ignore_unknown, plain((1, 0), (0, 1), (0, 0)), bce_when_full=True)
    expected = torch.tensor([[LOG2, LOG2, 0.0], [0.0, LOG4, LOG2]])
    torch.testing.assert_close(ignore_unknown(LOGITS, LABELS), expected)


def test_assume_negative():
    check_loss(assume_negative, plain((1, 0), (0, 1), (0, 1)), bce_when_full=True)
    expected = torch.tensor([[LOG2, LOG2, LOG4], [LOG4, LOG4, LOG2]])
    torch.testing.assert_close(assume_negative(LOGITS, LABELS), expected)


@pytest.mark.parametrize("scale", [2.0, 80.0])
def test_assume_negative_has_the_bits_of_its_two_terms(scale):
    values = random_logits(OBSERVED.shape, scale=scale).float()
    one, two = (values.clone().requires_grad_() for _ in range(2))
    terms = torch.where(OBSERVED == 1, positive_term(two), negative_term(two))
    assert torch.equal(assume_negative(one, OBSERVED), terms)
    assume_negative(one, OBSERVED).mean().backward()
    terms.mean().backward()
    assert torch.equal(one.grad, two.grad)


def test_weak_negative():
    check_loss(partial(weak_negative, gamma=0.3), plain((1, 0), (0, 1), (0, 0.3)))
    check_loss(weak_negative, plain((1, 0), (0, 1), (0, 1 / 3)), bce_when_full=True)
    expected = torch.tensor([[LOG2, LOG2, LOG4 / 2], [LOG4 / 2, LOG4, LOG2]])
    torch.testing.assert_close(weak_negative(LOGITS, LABELS), expected)


def test_weak_negative_has_a_single_class_to_spare():
    value = weak_negative(torch.zeros(1, 1), torch.tensor([[-1]]))
    torch.testing.assert_close(value, torch.tensor([[LOG2]]))


def test_assumed_negatives_weigh_as_much_as_the_single_positive():
    observed = torch.full((1, 9), -1)
    observed[0, 4] = 1
    slope = gradient(weak_negative, torch.zeros(1, 9), observed)[0]
    assert slope[4] == pytest.approx(-0.5)
    assert slope.sum() == pytest.approx(0.0, abs=1e-6)


def test_smoothed_assume_negative():
    check_loss(assume_negative_smoothed, plain((0.95, 0.05), (0.05, 0.95), (0.05, 0.95)))
    asymmetric = partial(assume_negative_smoothed, eps_p=0.0, eps_n=0.2)
    check_loss(asymmetric, plain((1, 0), (0.1, 0.9), (0.1, 0.9)))
    unsmoothed = partial(assume_negative_smoothed, eps_p=0.0, eps_n=0.0)
    check_loss(unsmoothed, plain((1, 0), (0, 1), (0, 1)), bce_when_full=True)


def test_smoothed_assume_negative_by_hand():
    value = assume_negative_smoothed(LOGITS, LABELS, eps_p=0.1, eps_n=0.2)
    assert value[0, 0] == pytest.approx(LOG2)
    assert value[0, 2] == pytest.approx(0.1 * LOG43 + 0.9 * LOG4)
    assert value[1, 1] == pytest.approx(0.95 * LOG4 + 0.05 * LOG43)


def test_smoothed_gradient_vanishes_at_the_target():
    logits = torch.tensor([[math.log(0.95 / 0.05), math.log(0.05 / 0.95)]])
    slope = gradient(assume_negative_smoothed, logits, torch.tensor([[1, -1]]))
    torch.testing.assert_close(slope, torch.zeros(1, 2), atol=1e-6, rtol=0)


def test_smoothed_known_entries():
    loss = partial(ignore_unknown_smoothed, eps=0.2)
    check_loss(loss, plain((0.9, 0.1), (0.1, 0.9), (0, 0)))


def test_unobserved_negatives_of_the_truth():
    truth = torch.where(OBSERVED < 0, torch.tensor([0, 1, 0, 1], dtype=torch.int8), OBSERVED)

    def loss(logits, observed):
        return ignore_unobserved_negatives(logits, observed, truth)

    def by_the_book(logits, observed):
        p = torch.sigmoid(logits)
        return (observed == 1) * -p.log() + (truth == 0) * -(1 - p).log()

    check_value(loss, by_the_book)
    check_gradient(loss, by_the_book)
    check_finite(loss)
    logits = random_logits(OBSERVED.shape)
    hidden_positive = (truth == 1) & (OBSERVED < 0)
    assert hidden_positive.any()
    assert (loss(logits, OBSERVED)[hidden_positive] == 0).all()
    full = random_logits(FULL.shape)
    torch.testing.assert_close(
        ignore_unobserved_negatives(full, FULL, FULL), assume_negative(full, FULL)
    )


def test_sampled_negative():
    chosen = torch.tensor([[False, False, True], [False, False, False]])
    expected = torch.tensor([[LOG2, LOG2, LOG4], [0.0, LOG4, LOG2]])
    torch.testing.assert_close(sampled_negative(LOGITS, LABELS, chosen), expected)
    everything = torch.ones_like(chosen)
    torch.testing.assert_close(
        sampled_negative(LOGITS, LABELS, everything), assume_negative(LOGITS, LABELS)
    )


def test_sampling_is_uniform_over_the_unknown_entries():
    observed = torch.tensor([[1, -1, -1, 0, -1]]).repeat(6000, 1)
    chosen = sample_unknown(observed, torch.Generator().manual_seed(0))
    assert (chosen.sum(1) == 1).all()
    share = chosen.float().mean(0)
    assert share[0] == share[3] == 0
    torch.testing.assert_close(share[[1, 2, 4]], torch.full((3,), 1 / 3), atol=0.02, rtol=0)


def test_nothing_is_sampled_where_nothing_is_unknown():
    assert not sample_unknown(FULL).any()


def test_sampling_is_weak_negative_in_expectation():
    observed = torch.tensor([[1, -1, -1, -1]])
    logits = random_logits((1, 4))
    generator = torch.Generator().manual_seed(1)
    draws = [sample_unknown(observed, generator) for _ in range(3000)]
    mean = torch.stack([sampled_negative(logits, observed, chosen) for chosen in draws]).mean(0)
    torch.testing.assert_close(mean, weak_negative(logits, observed), atol=0.05, rtol=0.05)
