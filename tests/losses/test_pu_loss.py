"""Risks from positive and unlabeled entries against slow loops."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from tests.losses.tester import OBSERVED, check_loss, gradient, random_logits

from tagfill.losses.pu import (
    adaptive_temperature,
    known_negative_risk,
    mixup_consistency,
    non_negative_risk,
    unbiased_risk,
    variational_risk,
)

PRIOR = torch.tensor([0.3, 0.3, 0.3, 0.3], dtype=torch.float64)
TAU = torch.tensor([0.5, 0.5, 0.5, 0.5], dtype=torch.float64)


def mean(values):
    return sum(values) / len(values) if values else torch.zeros((), dtype=torch.float64)


def by_class(column_risk):
    """A loss that walks over classes and entries one at a time."""

    def plain(logits, observed):
        risks = []
        for c in range(observed.shape[1]):
            entries = [(logits[n, c], int(observed[n, c])) for n in range(len(observed))]
            risks.append(column_risk(entries, c))
        return torch.stack(risks)

    return plain


def slow_upu(entries, c, included=True):
    positive = [s.sigmoid() for s, z in entries if z == 1]
    unlabeled = [s.sigmoid() for s, z in entries if included or z != 1]
    return (
        PRIOR[c] * mean([-p.log() for p in positive])
        - PRIOR[c] * mean([-(1 - p).log() for p in positive])
        + mean([-(1 - p).log() for p in unlabeled])
    )


def slow_vpu(entries, c, tau=1.0, gamma=0.0, included=True, tempered=False, eps=0.0):
    positive = [(s / tau).sigmoid() for s, z in entries if z == 1]
    unlabeled = [s for s, z in entries if included or z != 1]
    first = torch.zeros((), dtype=torch.float64)
    if unlabeled:
        factor = mean([(s / tau if tempered else s).sigmoid() for s in unlabeled]).detach()
        first = factor**gamma * (mean([(s / tau).sigmoid() for s in unlabeled]) + eps).log()
    return first - mean([p.log() for p in positive])


@pytest.mark.parametrize("included", [True, False])
def test_unbiased_risk(included):
    check_loss(
        partial(unbiased_risk, prior=PRIOR, positives_in_unlabeled=included),
        by_class(partial(slow_upu, included=included)),
    )


def test_unbiased_risk_with_sigmoid_loss():
    def slow(entries, c):
        positive = [s.sigmoid() for s, z in entries if z == 1]
        return (
            PRIOR[c] * mean([1 - p for p in positive])
            - PRIOR[c] * mean(positive)
            + mean([s.sigmoid() for s, _ in entries])
        )

    check_loss(partial(unbiased_risk, prior=PRIOR, surrogate="sigmoid"), by_class(slow))


def test_unbiased_risk_is_that_of_full_labels_in_expectation():
    """With all positives observed and their true prior, the risk is the mean cross-entropy."""
    labels = torch.tensor([[1, -1], [1, 1], [-1, -1], [-1, -1]])
    logits = random_logits(labels.shape)
    prior = (labels == 1).double().mean(0)
    full = torch.nn.functional.binary_cross_entropy_with_logits(
        logits, (labels == 1).double(), reduction="none"
    )
    torch.testing.assert_close(unbiased_risk(logits, labels, prior), full.mean(0))


def test_non_negative_risk_is_the_unbiased_one_while_not_negative():
    small = torch.full((4,), 0.01, dtype=torch.float64)
    check_loss(
        partial(non_negative_risk, prior=small),
        lambda logits, observed: unbiased_risk(logits, observed, small),
        gradcheck=False,
    )


def test_non_negative_risk_steps_back():
    logits = torch.tensor([[5.0], [-5.0]], dtype=torch.float64)
    observed, prior = torch.tensor([[1], [-1]]), torch.tensor([0.9], dtype=torch.float64)

    def excess(scores):
        loss = torch.nn.functional.softplus(scores)
        return loss.mean() - 0.9 * loss[0]

    assert excess(logits) < 0
    gain = 0.9 * math.log1p(math.exp(-5))
    assert non_negative_risk(logits, observed, prior).item() == pytest.approx(gain)
    leaf = logits.clone().requires_grad_()
    (towards,) = torch.autograd.grad(excess(leaf).sum(), leaf)
    for gamma in (1.0, 0.25):
        slope = gradient(partial(non_negative_risk, prior=prior, gamma=gamma), logits, observed)
        torch.testing.assert_close(slope, -gamma * towards)
    tolerant = non_negative_risk(logits, observed, prior, beta=10.0)
    torch.testing.assert_close(tolerant, unbiased_risk(logits, observed, prior))


@pytest.mark.parametrize("included", [True, False])
def test_variational_risk_is_equation_7(included):
    check_loss(
        partial(variational_risk, positives_in_unlabeled=included),
        by_class(partial(slow_vpu, included=included)),
    )


@pytest.mark.parametrize("tempered", [True, False])
def test_variational_risk_is_equation_11(tempered):
    check_loss(
        partial(variational_risk, temperature=TAU, gamma=0.55, tempered_factor=tempered),
        by_class(partial(slow_vpu, tau=0.5, gamma=0.55, tempered=tempered)),
        gradcheck=False,
    )


def test_floor_of_the_published_code():
    check_loss(
        partial(variational_risk, eps=1e-2), by_class(partial(slow_vpu, eps=1e-2)), extreme=100
    )


def test_variational_risk_by_hand():
    logits = torch.logit(torch.tensor([[0.8], [0.2]], dtype=torch.float64))
    risk = variational_risk(logits, torch.tensor([[1], [-1]]), gamma=1.0)
    assert risk.item() == pytest.approx(0.5 * math.log(0.5) - math.log(0.8))


def test_class_without_positives_keeps_its_unlabeled_term():
    logits = torch.tensor([[0.0, 1.0]])
    risk = variational_risk(logits, torch.tensor([[-1, 1]]))
    assert risk[0].item() == pytest.approx(math.log(0.5))
    assert risk[1].item() == pytest.approx(0.0, abs=1e-6)


def test_class_without_unlabeled_entries_keeps_its_positive_term():
    logits = torch.zeros(2, 1, requires_grad=True)
    risk = variational_risk(logits, torch.ones(2, 1), positives_in_unlabeled=False, gamma=0.5)
    assert risk.item() == pytest.approx(math.log(2))
    assert torch.isfinite(torch.autograd.grad(risk.sum(), logits)[0]).all()


def test_adaptive_temperature_is_equation_10():
    logits = torch.tensor([[0.0, 0.0, 3.0], [0.4, 8.0, 3.0]])
    temperature = adaptive_temperature(logits.requires_grad_(), alpha=2.0)
    torch.testing.assert_close(temperature, torch.tensor([0.4, 1.0, 1.0]))
    assert not temperature.requires_grad


def test_no_variance_is_finite():
    logits = torch.full((4, 2), -80.0).requires_grad_()
    labels = torch.tensor([[1, -1]] * 4)
    risk = variational_risk(
        logits, labels, temperature=adaptive_temperature(logits, 1.0), gamma=0.5
    )
    assert torch.isfinite(risk).all()
    assert torch.isfinite(torch.autograd.grad(risk.sum(), logits)[0]).all()


def test_batch_of_one_has_temperature_one():
    assert adaptive_temperature(torch.tensor([[3.0, -2.0]]), 1.0).tolist() == [1, 1]


def test_known_negative_risk():
    def slow(entries, _):
        return mean([-(1 - s.sigmoid()).log() for s, z in entries if z == 0])

    check_loss(known_negative_risk, by_class(slow))


FIRST, SECOND = torch.tensor([1, 0]), torch.tensor([2, 3])


@pytest.mark.parametrize("eps", [0.0, 1e-3])
def test_mixup_consistency_against_a_slow_loop_with_gradient(eps):
    logits = random_logits(OBSERVED.shape).requires_grad_()
    mixed = random_logits((2, 4), seed=5).requires_grad_()
    fast = mixup_consistency(mixed, logits, OBSERVED, FIRST, SECOND, 0.3, eps=eps)
    target = torch.where(OBSERVED == 1, 1.0, logits.sigmoid())
    blend = 0.3 * target[FIRST] + 0.7 * target[SECOND]
    slow = ((blend + eps).log() - (mixed.sigmoid() + eps).log()) ** 2
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(
        torch.autograd.grad(fast.sum(), (mixed, logits)),
        torch.autograd.grad(slow.sum(), (mixed, logits)),
    )


def test_mixup_consistency_gradcheck():
    logits = random_logits(OBSERVED.shape).requires_grad_()
    mixed = random_logits((2, 4), seed=5).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda m, s: mixup_consistency(m, s, OBSERVED, FIRST, SECOND, 0.3), (mixed, logits)
    )


def test_detached_targets():
    logits = random_logits(OBSERVED.shape).requires_grad_()
    mixed = random_logits((2, 4), seed=5).requires_grad_()
    terms = mixup_consistency(mixed, logits, OBSERVED, FIRST, SECOND, 0.3, detach=True)
    terms.sum().backward()
    assert logits.grad is None
    assert mixed.grad.abs().sum() > 0


@pytest.mark.parametrize("weight", [0.0, 1e-12, 0.5, 1.0])
@pytest.mark.parametrize("scale", [100.0, -100.0])
def test_mixup_consistency_is_finite(weight, scale):
    logits = torch.full((5, 4), scale, requires_grad=True)
    mixed = torch.full((2, 4), -scale, requires_grad=True)
    terms = mixup_consistency(mixed, logits, OBSERVED, FIRST, SECOND, weight)
    assert torch.isfinite(terms).all()
    for slope in torch.autograd.grad(terms.sum(), (mixed, logits)):
        assert torch.isfinite(slope).all()
