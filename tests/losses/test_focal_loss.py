"""Focal, asymmetric and partial asymmetric losses."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from tests.losses.tester import check_loss, gradient

from tagfill.losses.focusing import asymmetric, focal, partial_asymmetric

LOGITS = torch.logit(torch.tensor([[0.8, 0.5, 0.2], [0.5, 0.2, 0.8]], dtype=torch.float64))
LABELS = torch.tensor([[1, -1, 0], [-1, 1, -1]], dtype=torch.int8)


def by_the_book(gammas, margin=0.0, alphas=(1, 1, 1), detach=False):
    """gammas and alphas for positive, negative, unknown."""

    def terms(logits, observed):
        p = logits.sigmoid()
        q = (p - margin).clamp(min=0)
        power = (lambda base, g: base.detach() ** g) if detach else (lambda base, g: base**g)
        positive = -alphas[0] * power(1 - p, gammas[0]) * p.log()
        negative = -alphas[1] * power(q, gammas[1]) * (1 - q).log()
        unknown = -alphas[2] * power(q, gammas[2]) * (1 - q).log()
        return torch.where(observed == 1, positive, torch.where(observed == 0, negative, unknown))

    return terms


def assert_terms(terms, expected):
    torch.testing.assert_close(
        terms, torch.tensor(expected, dtype=torch.float64), atol=1e-6, rtol=0
    )


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
def test_focal_satisfies_what_every_loss_must(gamma):
    check_loss(partial(focal, gamma=gamma), by_the_book((gamma,) * 3), bce_when_full=gamma == 0)


@pytest.mark.parametrize("margin", [0.0, 0.05])
@pytest.mark.parametrize("gammas", [(0.0, 4.0), (1.0, 0.5), (0.0, 0.0)])
@pytest.mark.parametrize("detach", [False, True])
def test_asymmetric_satisfies_what_every_loss_must(gammas, margin, detach):
    check_loss(
        partial(
            asymmetric,
            gamma_positive=gammas[0],
            gamma_negative=gammas[1],
            margin=margin,
            detach_weight=detach,
        ),
        by_the_book((gammas[0], gammas[1], gammas[1]), margin, detach=detach),
        gradcheck=not detach,
        bce_when_full=gammas == (0.0, 0.0) and margin == 0,
    )


@pytest.mark.parametrize("detach", [False, True])
def test_partial_asymmetric_satisfies_what_every_loss_must(detach):
    check_loss(
        partial(
            partial_asymmetric,
            gammas=(1.0, 2.0, 4.0),
            alphas=(1.0, 0.5, 0.25),
            margin=0.05,
            detach_weight=detach,
        ),
        by_the_book((1, 2, 4), 0.05, (1.0, 0.5, 0.25), detach),
        gradcheck=not detach,
    )


def test_focal_by_hand():
    expected = [[0.008926, 0.173287, 0.008926], [0.173287, 1.030040, 1.030040]]
    assert_terms(focal(LOGITS, LABELS, gamma=2), expected)


def test_asymmetric_with_margin_by_hand():
    terms = asymmetric(LOGITS, LABELS, gamma_positive=0, gamma_negative=4, margin=0.05)
    expected = [[0.223144, 0.024515, 0.000082], [0.024515, 1.609438, 0.438632]]
    assert_terms(terms, expected)


def test_query2label_form_by_hand():
    terms = asymmetric(LOGITS, LABELS, gamma_positive=0, gamma_negative=1)
    expected = [[0.223144, 0.346574, 0.044629], [0.346574, 1.609438, 1.287550]]
    assert_terms(terms, expected)


def test_partial_asymmetric_by_hand():
    terms = partial_asymmetric(LOGITS, LABELS, gammas=(0, 1, 4), alphas=(2, 1, 1))
    expected = [[0.446287, 0.043322, 0.044629], [0.043322, 3.218876, 0.659226]]
    assert_terms(terms, expected)


def test_negatives_below_the_margin_cost_nothing():
    logits = torch.logit(torch.tensor([[0.03, 0.049, 0.06]], dtype=torch.float64))
    loss = partial(asymmetric, gamma_negative=0.5, margin=0.05)
    unknown = -torch.ones(1, 3)
    assert (loss(logits, unknown)[0] > 0).tolist() == [False, False, True]
    assert (gradient(loss, logits, unknown)[0] > 0).tolist() == [False, False, True]


def test_probabilities_are_raised_to_eps_inside_logarithms():
    logits = torch.tensor([[-40.0, 40.0]], dtype=torch.float64)
    labels = torch.tensor([[1, 0]])
    terms = asymmetric(logits, labels, gamma_negative=2, eps=1e-5)
    assert_terms(terms, [[11.512925, 11.512925]])
    loss = partial(asymmetric, gamma_negative=2, eps=1e-5)
    assert not gradient(loss, logits, labels)[0, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_small_margin_keeps_confident_mistakes_finite(dtype):
    loss = partial(asymmetric, margin=1e-8)
    logits, unknown = torch.tensor([[40.0]], dtype=dtype), torch.tensor([[-1]])
    torch.testing.assert_close(loss(logits, unknown).double(), torch.tensor([[18.42068]]).double())
    assert torch.isfinite(gradient(loss, logits, unknown)).all()
