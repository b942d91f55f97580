from __future__ import annotations

import pytest
import torch
from tests.losses.tester import (
    OBSERVED,
    check_finite,
    check_gradcheck,
    check_gradient,
    check_loss,
    check_value,
    gradient,
    random_logits,
)

from tagfill.losses.estimation import count_penalty, expected_positives, learn_from

K = OBSERVED.shape[1]


def plain_count(logits, k):
    total = sum(torch.sigmoid(logits).flatten())
    return ((total / len(logits) - k) / logits.shape[1]) ** 2


def plain_evidence(logits, observed):
    p = torch.sigmoid(logits)
    return ((observed == 1) * -p.log() + (observed == 0) * -(1 - p).log()).sum() / len(logits)


def test_count_penalty():
    check_loss(lambda logits, _: count_penalty(logits, 1.5), lambda x, _: plain_count(x, 1.5))


def test_count_penalty_by_hand():
    logits = torch.zeros(3, 4)
    assert count_penalty(logits, 2.0) == 0
    assert float(count_penalty(logits, 1.0)) == pytest.approx(1 / 16)
    too_many = gradient(lambda x, _: count_penalty(x, 1.0), logits, OBSERVED)
    too_few = gradient(lambda x, _: count_penalty(x, 3.0), logits, OBSERVED)
    assert (too_many > 0).all()
    assert (too_few < 0).all()


@pytest.mark.parametrize(("weight", "per_class"), [(None, False), (1.0, True), (0.3, False)])
def test_expected_positives(weight, per_class):
    strength = K if weight is None else weight

    def by_the_book(logits, observed):
        evidence = plain_evidence(logits, observed) / (K if per_class else 1)
        return evidence + strength * plain_count(logits, 1.5)

    check_loss(
        lambda logits, observed: sum(
            expected_positives(logits, observed, k=1.5, weight=weight, per_class=per_class)
        ),
        by_the_book,
    )


def test_default_is_the_published_loss_times_the_number_of_classes():
    logits = random_logits(OBSERVED.shape)
    ours = expected_positives(logits, OBSERVED, k=1.5)
    published = expected_positives(logits, OBSERVED, k=1.5, weight=1.0, per_class=True)
    torch.testing.assert_close(sum(ours), K * sum(published))


@pytest.mark.parametrize(("weight", "per_class"), [(None, False), (1.0, True)])
def test_learning_from_the_other_side(weight, per_class):
    other = random_logits(OBSERVED.shape, seed=7)
    strength = K if weight is None else weight

    def total(logits, observed):
        return learn_from(logits, other, observed, k=1.5, weight=weight, per_class=per_class).total

    def by_the_book(logits, observed):
        p, q = torch.sigmoid(logits), torch.sigmoid(other)
        agreement = (-q * p.log() - (1 - q) * (1 - p).log()).sum() / p.numel()
        evidence = plain_evidence(logits, observed) / (K if per_class else 1)
        return agreement + evidence + strength * plain_count(logits, 1.5)

    check_value(total, by_the_book)
    check_gradient(total, by_the_book)
    check_gradcheck(total)
    check_finite(total)


def test_gradient_stops_at_the_other_side():
    logits = random_logits(OBSERVED.shape).requires_grad_()
    other = random_logits(OBSERVED.shape, seed=1).requires_grad_()
    learn_from(logits, other, OBSERVED, k=1.5).total.backward()
    assert other.grad is None
    assert logits.grad.abs().min() > 0
