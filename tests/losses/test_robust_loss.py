"""Hill loss, self-paced correction, generalized robust loss."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from tests.losses.tester import OBSERVED, check_loss, gradient, random_logits

from tagfill.losses.focusing import generalized_robust, hill, self_paced_correction

LOGITS = torch.logit(torch.tensor([[0.8, 0.5, 0.2], [0.5, 0.2, 0.8]], dtype=torch.float64))
LABELS = torch.tensor([[1, -1, 0], [-1, 1, -1]], dtype=torch.int8)
GR = {"slope": 2.0, "bias": -2.0, "mean": 0.8, "spread": 0.5}


def focal_margin(logits, margin=1.0, gamma=2.0):
    q = (logits - margin).sigmoid()
    return -((1 - q) ** gamma) * q.log()


def choose(observed, positive, negative, unknown):
    return torch.where(observed == 1, positive, torch.where(observed == 0, negative, unknown))


def assert_terms(terms, expected):
    torch.testing.assert_close(
        terms, torch.tensor(expected, dtype=torch.float64), atol=1e-6, rtol=0
    )


def test_hill_satisfies_what_every_loss_must():
    def by_the_book(logits, observed):
        p = logits.sigmoid()
        return choose(observed, focal_margin(logits), -(1 - p).log(), (1.5 - p) * p**2)

    check_loss(hill, by_the_book)
    check_loss(
        partial(hill, margin=0.0, gamma=0.0),
        lambda logits, observed: choose(
            observed,
            -logits.sigmoid().log(),
            -(1 - logits.sigmoid()).log(),
            (1.5 - logits.sigmoid()) * logits.sigmoid() ** 2,
        ),
        bce_when_full=True,
    )


def test_hill_by_hand():
    expected = [[0.084889, 0.25, 0.223144], [0.25, 2.075043, 0.448]]
    assert_terms(hill(LOGITS, LABELS), expected)


def test_hill_pushes_most_in_the_middle_and_not_at_all_where_sure():
    logits = torch.tensor([[-8.0, 0.5, 12.0]], dtype=torch.float64)
    slope = gradient(hill, logits, -torch.ones(1, 3))[0]
    assert slope[1] > 0.15
    assert slope[0] < 1e-3
    assert 0 <= slope[2] < 1e-4


@pytest.mark.parametrize("margin_on_corrected", [True, False])
@pytest.mark.parametrize("tau", [0.6, None])
def test_self_paced_correction_satisfies_what_every_loss_must(tau, margin_on_corrected):
    def by_the_book(logits, observed):
        p = logits.sigmoid()
        negative = -(p**2) * (1 - p).log()
        corrected = focal_margin(logits, 1.0 if margin_on_corrected else 0.0)
        above = p > (2 if tau is None else tau)
        return choose(
            observed, focal_margin(logits), negative, torch.where(above, corrected, negative)
        )

    check_loss(
        partial(self_paced_correction, tau=tau, margin_on_corrected=margin_on_corrected),
        by_the_book,
    )


def test_self_paced_correction_by_hand():
    corrected = self_paced_correction(LOGITS, LABELS, tau=0.6)
    assert_terms(corrected, [[0.084889, 0.173287, 0.008926], [0.173287, 2.075043, 0.084889]])
    published = self_paced_correction(LOGITS, LABELS, tau=0.6, margin_on_corrected=False)
    assert_terms(published, [[0.084889, 0.173287, 0.008926], [0.173287, 2.075043, 0.008926]])
    before = self_paced_correction(LOGITS, LABELS, tau=None)
    assert_terms(before, [[0.084889, 0.173287, 0.008926], [0.173287, 2.075043, 1.030040]])


def test_a_confident_observed_negative_is_not_corrected():
    logits = torch.tensor([[4.0, 4.0]])
    slope = gradient(self_paced_correction, logits, torch.tensor([[0, -1]]))[0]
    assert slope[0] > 0 > slope[1]


@pytest.mark.parametrize(("q2", "q3"), [(0.01, 1.0), (0.7, 1.5)])
def test_generalized_robust_satisfies_what_every_loss_must(q2, q3):
    def by_the_book(logits, observed):
        p = logits.sigmoid()
        fixed = p.detach()
        k = (2 * fixed - 2).sigmoid()
        v = torch.exp(-((fixed - 0.8) ** 2) / (2 * 0.5**2))
        unknown = v * (k * (1 - p**q2) / q2 + (1 - k) * (1 - (1 - p) ** q3) / q3)
        return choose(observed, -p.log(), -(1 - p).log(), unknown)

    check_loss(
        partial(generalized_robust, q_positive=q2, q_negative=q3, **GR),
        by_the_book,
        bce_when_full=True,
        gradcheck=False,
    )


def test_generalized_robust_by_hand():
    expected = [[0.223144, 0.460485, 0.223144], [0.460485, 1.609438, 0.568401]]
    assert_terms(generalized_robust(LOGITS, LABELS, **GR), expected)


def test_generalized_robust_becomes_assume_negative():
    logits = random_logits(OBSERVED.shape)
    terms = generalized_robust(
        logits, OBSERVED, slope=0.0, bias=-60.0, mean=0.5, spread=1e6, q_negative=1e-6
    )
    expected = choose(OBSERVED, -logits.sigmoid().log(), *[-(1 - logits.sigmoid()).log()] * 2)
    torch.testing.assert_close(terms, expected, atol=1e-4, rtol=1e-4)


def test_published_floor_bounds_hopeless_positives():
    logits, labels = torch.tensor([[-90.0]]), torch.tensor([[1]])
    assert generalized_robust(logits, labels, eps=1e-7, **GR).item() == pytest.approx(
        16.1181, abs=1e-3
    )
