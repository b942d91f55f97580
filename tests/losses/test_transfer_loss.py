"""Losses of SST and SARB against slow loops."""

from __future__ import annotations

import math

import pytest
import torch
from tests.losses.tester import OBSERVED, check_loss

from tagfill.losses.transfer import blended_mean, co_occurrence, known_mean, label_contrast


def plain_known_mean(logits, observed):
    p = logits.sigmoid()
    terms = torch.where(observed == 1, -p.log(), -(1 - p).log())
    known = observed >= 0
    return terms[known].sum() / max(int(known.sum()), 1)


def test_known_mean():
    check_loss(known_mean, plain_known_mean, bce_when_full=True)


def test_blended_entries_have_soft_labels():
    logits = torch.tensor([[0.3, -1.0, 2.0]])
    labels = torch.tensor([[1, -1, -1]])
    blended = torch.tensor([[False, True, False]])
    p, q = (1 / (1 + math.exp(-x)) for x in (0.3, -1.0))
    soft = -0.4 * math.log(q) - 0.6 * math.log(1 - q)
    got = blended_mean(logits, labels, torch.tensor(0.4), blended)
    assert got.item() == pytest.approx((-math.log(p) + soft) / 2)


def test_pairs_of_classes_seen_together_are_positive():
    logits = torch.tensor([[0.5, -0.5, 1.5], [0.0, 2.0, -3.0]], dtype=torch.float64)
    observed = torch.tensor([[1, 1, -1], [1, 0, 1]])
    p = logits.sigmoid()
    expected = torch.empty_like(p)
    together = torch.tensor([[True, False, False], [False, True, False]])
    for place in torch.cartesian_prod(torch.arange(2), torch.arange(3)).tolist():
        value = float(p[tuple(place)])
        shifted = max(value - 0.05, 0)
        positive = -(1 - value) * math.log(value)
        negative = -(shifted**2) * math.log(1 - shifted)
        expected[tuple(place)] = positive if together[tuple(place)] else negative
    torch.testing.assert_close(co_occurrence(logits, observed), expected)


def cosine(one, other):
    return float(one @ other / one.norm() / other.norm())


def test_contrast_of_few_pairs_is_over_all_of_them():
    torch.manual_seed(0)
    features = torch.randn(3, 2, 4)
    observed = torch.tensor([[1, 0], [1, -1], [0, -1]])
    alike = [1 - cosine(features[0, 0], features[1, 0])]
    mixed = [1 + cosine(features[i, 0], features[2, 0]) for i in (0, 1)]
    expected = (sum(alike) + sum(mixed) + max(mixed)) / 4
    assert label_contrast(features, observed).item() == pytest.approx(expected, rel=1e-5)


def test_contrast_without_known_pairs_is_a_zero_with_a_gradient():
    features = torch.randn(2, 3, 4, requires_grad=True)
    term = label_contrast(features, torch.full((2, 3), -1))
    assert term.item() == 0
    term.backward()
    assert torch.equal(features.grad, torch.zeros_like(features))


def test_contrast_draws_with_its_generator():
    torch.manual_seed(1)
    features, observed = torch.randn(9, 4, 5), (torch.rand(9, 4) < 0.25).long()
    observed[:3, 0] = 1

    def drawn(seed):
        return label_contrast(features, observed, torch.Generator().manual_seed(seed)).item()

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_observed_of_the_tester_has_all_states():
    assert set(OBSERVED.unique().tolist()) == {-1, 0, 1}


@pytest.mark.parametrize("observed", [[[1, -1]] * 3, [[-1, -1]] * 3], ids=["alike", "no pair"])
def test_contrast_in_half_precision_is_that_of_float32(observed):
    features = torch.full((3, 2, 64), 500.0).half()
    features[0, 0] = 0
    labels = torch.tensor(observed)
    torch.testing.assert_close(
        label_contrast(features, labels).float(), label_contrast(features.float(), labels)
    )
