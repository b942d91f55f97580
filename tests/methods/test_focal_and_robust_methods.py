"""Schedules, modes, penalties, reductions and presets of the methods built on pure losses."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.losses.assume import assume_negative
from tagfill.losses.entropy import entropy_maximization, entropy_minimization
from tagfill.losses.focusing import (
    asymmetric,
    focal,
    generalized_robust,
    hill,
    partial_asymmetric,
    self_paced_correction,
)
from tagfill.losses.selection import likely_or_common
from tagfill.methods.base import Setup, Step
from tagfill.models.output import Output

LABELS = torch.tensor(
    [[1, -1, -1, 0, -1, -1], [-1, -1, 1, -1, -1, 0], [-1, 1, -1, -1, -1, -1]], dtype=torch.int8
)
LOGITS = 2 * torch.randn(LABELS.shape, generator=torch.Generator().manual_seed(0))
PRIOR = torch.tensor([0.1, 0.7, 0.2, 0.3, 0.05, 0.0])


def started(name: str, preset: str | None = None, epochs: int = 8, **settings):
    method = methods.make(name, settings, preset)
    method.start(Setup(LABELS, epochs, steps_per_epoch=1, class_prior=PRIOR))
    return method


def step(epoch: int = 1, weights: tuple[torch.Tensor, ...] = ()) -> Step:
    return Step(Output(LOGITS), LABELS, torch.arange(3), epoch, step=0, weights=weights)


ALL = [
    "em",
    "em_apl",
    "entmin",
    "focal",
    "asl",
    "asl_q2l",
    "l1r",
    "l2r",
    "ll_r",
    "ll_ct",
    "ll_cp",
    "hill",
    "splc",
    "p_asl",
    "gr",
    "boostlu",
]
STATELESS = {
    "em": partial(entropy_maximization, alpha=0.2),
    "entmin": partial(entropy_minimization, weight=0.2),
    "focal": partial(focal, gamma=2.0),
    "asl": partial(asymmetric, gamma_positive=0.0, gamma_negative=4.0, margin=0.05),
    "asl_q2l": partial(asymmetric, gamma_positive=0.0, gamma_negative=1.0),
    "hill": partial(hill, lam=1.5, margin=1.0, gamma=2.0),
}


@pytest.mark.parametrize("name", STATELESS)
def test_defaults_are_the_papers_loss_averaged_over_entries(name):
    expected = STATELESS[name](LOGITS, LABELS).mean()
    torch.testing.assert_close(started(name).loss(step())[name], expected)


@pytest.mark.parametrize("name", ["asl", "hill", "splc", "p_asl"])
def test_sum_is_the_mean_times_the_entries(name):
    mean = started(name).loss(step())[name]
    total = started(name, reduction="sum").loss(step())[name]
    torch.testing.assert_close(total, mean * LABELS.numel())


def test_published_query2label_loss_as_its_code_computes_it():
    p = LOGITS.sigmoid().clamp(1e-5, 1 - 1e-5)
    target = (LABELS == 1).float()
    weight = target + (1 - target) * LOGITS.sigmoid() ** 2
    value = -(weight * (target * p.log() + (1 - target) * (1 - p).log())).sum() / 3 / 6 * 1000
    torch.testing.assert_close(started("asl_q2l", "published").loss(step())["asl_q2l"], value)


def test_published_asymmetric_loss_as_its_code_computes_it():
    p = LOGITS.sigmoid()
    target, absent = (LABELS == 1).float(), (1 - p + 0.05).clamp(max=1)
    weight = (1 - p * target - absent * (1 - target)) ** (4 * (1 - target))
    value = -(weight * (target * p.log() + (1 - target) * absent.log())).sum()
    torch.testing.assert_close(started("asl", "published").loss(step())["asl"], value)


def test_entropy_minimization_with_assumed_negatives():
    expected = entropy_minimization(LOGITS, LABELS, weight=0.2, assume_negative=True).mean()
    torch.testing.assert_close(started("entmin", base="an").loss(step())["entmin"], expected)


@pytest.mark.parametrize(("name", "penalty"), [("l1r", 10.0), ("l2r", 30.0)])
def test_penalties_on_the_heads_weights(name, penalty):
    weights = (torch.tensor([[1.0, -2.0], [3.0, 0.0]]), torch.tensor([[-4.0]]))
    terms = started(name, weight=0.5).loss(step(weights=weights))
    torch.testing.assert_close(terms["an"], assume_negative(LOGITS, LABELS).mean())
    assert terms["penalty"].item() == 0.5 * penalty


@pytest.mark.parametrize(("epoch", "tau"), [(1, None), (2, 0.6), (7, 0.6)])
def test_self_paced_correction_begins_after_the_first_epoch(epoch, tau):
    expected = self_paced_correction(LOGITS, LABELS, tau=tau).mean()
    torch.testing.assert_close(started("splc").loss(step(epoch))["splc"], expected)


def test_published_self_paced_correction():
    expected = self_paced_correction(LOGITS, LABELS, tau=0.6, margin_on_corrected=False).sum()
    torch.testing.assert_close(started("splc", "published").loss(step(2))["splc"], expected)


@pytest.mark.parametrize("epoch", [1, 4, 8])
def test_generalized_robust_loss_follows_its_schedule(epoch):
    before, after = (epoch - 1) / 8, epoch / 8
    expected = generalized_robust(
        LOGITS,
        LABELS,
        slope=2 * before,
        bias=-2.0,
        mean=0.5 + 0.3 * after,
        spread=2 - 1.5 * after,
    ).mean()
    torch.testing.assert_close(started("gr").loss(step(epoch))["gr"], expected)


def p_asl_terms() -> torch.Tensor:
    return partial_asymmetric(LOGITS, LABELS, gammas=(0.0, 1.0, 4.0))


def test_selective_mode_leaves_out_likely_entries_and_common_classes():
    left_out = likely_or_common(LOGITS, LABELS, PRIOR, per_image=2, prior_threshold=0.5)
    assert left_out[:, 1][LABELS[:, 1] == -1].all()
    expected = torch.where(left_out, 0.0, p_asl_terms()).mean()
    method = started("p_asl", likelihood_topk=2)
    assert method.needs.class_prior
    torch.testing.assert_close(method.loss(step())["p_asl"], expected)


def test_other_modes_keep_all_unknown_entries_or_none():
    known = LABELS != -1
    ignored = torch.where(known, p_asl_terms(), 0.0)
    weights = 1 + 1 / (1 + known.sum(1, keepdim=True))
    for mode, expected in (
        ("negative", p_asl_terms()),
        ("ignore", ignored),
        ("ignore_normalized", weights * ignored),
    ):
        method = started("p_asl", mode=mode)
        assert not method.needs.class_prior
        torch.testing.assert_close(method.loss(step())["p_asl"], expected.mean())


def test_selective_mode_without_a_prior_is_refused():
    with pytest.raises(TagfillError, match="p_asl needs the share of positives"):
        methods.make("p_asl").start(Setup(LABELS, epochs=2, steps_per_epoch=1))


@pytest.mark.parametrize("name", ALL)
def test_labels_without_a_positive_are_refused(name):
    with pytest.raises(TagfillError, match="no observed label is positive"):
        methods.make(name).start(
            Setup(LABELS.clamp(max=0), epochs=4, steps_per_epoch=1, class_prior=PRIOR)
        )


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("em", {"alpha": -1.0}),
        ("focal", {"gamma": -0.1}),
        ("asl", {"margin": 1.5}),
        ("hill", {"reduction": "max"}),
        ("splc", {"reduction": "none"}),
        ("p_asl", {"mode": "sometimes"}),
        ("splc", {"start_epoch": 0}),
        ("gr", {"spread_end": 0.0}),
        ("entmin", {"base": "em"}),
        ("l1r", {"weight": -1.0}),
    ],
)
def test_senseless_settings_are_refused(name, settings):
    with pytest.raises(TagfillError) as refusal:
        methods.make(name, settings)
    assert refusal.value.remedy


def test_published_alphas_of_entropy_maximization():
    presets = methods.find("em").PRESETS
    assert [presets[name].alpha for name in ("voc", "coco", "nus", "cub")] == [0.2, 0.1, 0.1, 0.01]


def test_p_asl_takes_a_prior_of_the_users_own() -> None:
    method = methods.make("p_asl", {"prior": "0.9,0.1,0.1,0.1,0.1"})
    assert not method.needs.class_prior
    observed = torch.full((4, 5), -1, dtype=torch.int8)
    observed[:, 1] = 1
    method.start(Setup(observed=observed, epochs=1, steps_per_epoch=1))
    assert method.prior.tolist() == pytest.approx([0.9, 0.1, 0.1, 0.1, 0.1])
