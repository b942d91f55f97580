"""Entropy maximization and minimization, with and without pseudo-labels."""

from __future__ import annotations

from functools import partial

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

from tagfill.losses.entropy import (
    entropy_maximization,
    entropy_minimization,
    entropy_with_pseudo_labels,
)

LOGITS = torch.logit(torch.tensor([[0.8, 0.5, 0.2], [0.5, 0.2, 0.8]], dtype=torch.float64))
LABELS = torch.tensor([[1, -1, 0], [-1, 1, -1]], dtype=torch.int8)
PSEUDO = torch.tensor(
    [
        [0.1, -1, 0.2, 0.3],
        [0.4, -1, 0.9, -1],
        [-1, -1, 0.5, -1],
        [0.2, -1, -1, 0.6],
        [-1, 0, 1, -1],
    ],
    dtype=torch.float64,
)


def entropy(p):
    return -p * p.log() - (1 - p) * (1 - p).log()


def plain(unknown):
    def terms(logits, observed):
        p = logits.sigmoid()
        known = torch.where(observed == 1, -p.log(), -(1 - p).log())
        return torch.where(observed == -1, unknown(p), known)

    return terms


def test_maximization_satisfies_what_every_loss_must():
    check_loss(
        partial(entropy_maximization, alpha=0.3),
        plain(lambda p: -0.3 * entropy(p)),
        bce_when_full=True,
    )


def test_minimization_satisfies_what_every_loss_must():
    check_loss(
        partial(entropy_minimization, weight=0.3),
        plain(lambda p: 0.3 * entropy(p)),
        bce_when_full=True,
    )
    check_loss(
        partial(entropy_minimization, weight=0.3, assume_negative=True),
        plain(lambda p: 0.3 * entropy(p) - (1 - p).log()),
        bce_when_full=True,
    )


def test_maximization_by_hand():
    terms = entropy_maximization(LOGITS, LABELS, alpha=0.5)
    expected = [[0.223144, -0.346574, 0.223144], [-0.346574, 1.609438, -0.250201]]
    torch.testing.assert_close(
        terms, torch.tensor(expected, dtype=torch.float64), atol=1e-6, rtol=0
    )
    assert terms.mean().item() == pytest.approx(0.185396, abs=1e-6)


def test_maximization_has_the_printed_gradient():
    g = torch.linspace(-12, 12, 97, dtype=torch.float64)[None]
    e = torch.exp(-g)
    loss = partial(entropy_maximization, alpha=0.2)
    positive, unknown = torch.ones_like(g), -torch.ones_like(g)
    torch.testing.assert_close(gradient(loss, g, positive), -e / (1 + e))
    torch.testing.assert_close(gradient(loss, g, unknown), -0.2 * e * torch.log(e) / (1 + e) ** 2)


def test_maximization_leaves_undecided_and_confident_entries_alone():
    g = torch.tensor([[0.0, 1.5, -1.5, 15.0]], dtype=torch.float64)
    slope = gradient(partial(entropy_maximization, alpha=1.0), g, -torch.ones_like(g))[0]
    assert slope[0] == 0
    assert slope[1] > 0 > slope[2]
    assert slope[3] < 1e-4


def test_floor_inside_the_logarithms_is_the_published_one():
    def published(logits, observed):
        p = logits.sigmoid()
        positive, negative = -(p + 1e-5).log(), -(1 - p + 1e-5).log()
        unknown = -0.2 * (p * positive + (1 - p) * negative)
        known = torch.where(observed == 1, positive, negative)
        return torch.where(observed == -1, unknown, known)

    floored = partial(entropy_maximization, alpha=0.2, eps=1e-5)
    check_loss(floored, published)
    hopeless = torch.full((1, 1), -60.0, dtype=torch.float64)
    assert floored(hopeless, torch.ones(1, 1)).item() == pytest.approx(11.512925, abs=1e-6)


@pytest.mark.parametrize("assume_negative", [False, True])
def test_pseudo_labels_satisfy_what_every_loss_must(assume_negative):
    def by_the_book(logits, observed):
        p = logits.sigmoid()
        soft = 0.7 * (-PSEUDO * p.log() - (1 - PSEUDO) * (1 - p).log())
        rest = -(1 - p).log() if assume_negative else -0.3 * entropy(p)
        known = torch.where(observed == 1, -p.log(), -(1 - p).log())
        return torch.where(observed == -1, torch.where(PSEUDO >= 0, soft, rest), known)

    loss = partial(
        entropy_with_pseudo_labels,
        pseudo=PSEUDO,
        alpha=0.3,
        beta=0.7,
        assume_negative=assume_negative,
    )
    check_value(loss, by_the_book)
    check_gradient(loss, by_the_book)
    check_gradcheck(loss)
    check_finite(loss)


def test_pseudo_label_by_hand():
    logits = torch.logit(torch.tensor([[0.8, 0.8, 0.8]], dtype=torch.float64))
    labels = torch.tensor([[-1, 1, 0]], dtype=torch.int8)
    pseudo = torch.full((1, 3), 0.3, dtype=torch.float64)
    terms = entropy_with_pseudo_labels(logits, labels, pseudo, alpha=0.1, beta=0.5)
    expected = torch.tensor([[0.596775, 0.223144, 1.609438]], dtype=torch.float64)
    torch.testing.assert_close(terms, expected, atol=1e-6, rtol=0)


def test_without_pseudo_labels_it_is_maximization():
    logits = random_logits(OBSERVED.shape)
    none = torch.full(OBSERVED.shape, -1.0)
    torch.testing.assert_close(
        entropy_with_pseudo_labels(logits, OBSERVED, none, alpha=0.2, beta=0.5),
        entropy_maximization(logits, OBSERVED, alpha=0.2),
    )


def test_a_soft_label_is_the_minimum():
    g = torch.logit(torch.tensor([[0.3]], dtype=torch.float64))
    loss = partial(entropy_with_pseudo_labels, pseudo=torch.full((1, 1), 0.3), alpha=0.0, beta=1.0)
    assert gradient(loss, g, -torch.ones(1, 1)).abs().item() < 1e-7
