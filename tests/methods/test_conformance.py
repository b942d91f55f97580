"""What every method must do, whoever wrote it."""

from __future__ import annotations

import copy
import dataclasses
import math

import pytest
import torch
from tests.methods.harness import BATCH, CLASSES, IMAGES, REGIMES, Rehearsal, make_truth
from torch import Tensor

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.methods.base import Info, Method

ALL = torch.arange(IMAGES)
METHODS = methods.names()


def rehearse(name: str, regime: str) -> Rehearsal | None:
    """A rehearsal, or None where the method refuses the labels, saying what would help."""
    try:
        return Rehearsal(name, REGIMES[regime](make_truth()))
    except TagfillError as refusal:
        if name not in str(refusal) or not refusal.remedy:
            pytest.fail(f"a refusal names the method and a remedy, this one does not: {refusal}")
        return None


def runnable(name: str) -> Rehearsal:
    """A rehearsal on the first regime the method accepts; there must be one."""
    for regime in REGIMES.values():
        try:
            return Rehearsal(name, regime(make_truth()))
        except TagfillError:
            continue
    raise AssertionError(f"{name} accepts no regime at all")


@pytest.mark.parametrize("name", METHODS)
def test_module_shows_its_face(name):
    module = methods.find(name)
    assert isinstance(module.INFO, Info)
    assert module.INFO.title
    assert module.INFO.source
    assert (module.__doc__ or "").strip()
    assert dataclasses.is_dataclass(module.Config)
    assert isinstance(methods.make(name), Method)
    for preset in getattr(module, "PRESETS", {}).values():
        assert isinstance(preset, module.Config)


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("name", METHODS)
def test_runs_on_every_regime_or_refuses_clearly(name, regime):
    rehearsal = rehearse(name, regime)
    if rehearsal is None:
        return
    for _ in range(3):
        assert all(map(math.isfinite, rehearsal.epoch()))
    estimates = rehearsal.method.estimates()
    if estimates is not None:
        assert_estimates_fit(estimates, rehearsal.observed)


def assert_estimates_fit(estimates: Tensor, observed: Tensor) -> None:
    """Probabilities of every entry; what is known stands as it is."""
    assert estimates.shape == (IMAGES, CLASSES)
    assert not estimates.requires_grad
    assert ((estimates >= 0) & (estimates <= 1)).all()
    known = observed >= 0
    assert torch.equal(estimates[known].float(), observed[known].float())


@pytest.mark.parametrize("name", METHODS)
def test_loss_falls_in_20_steps(name):
    rehearsal = runnable(name)
    untrained = copy.deepcopy(rehearsal.network.state_dict())
    rows = ALL[:BATCH]
    for _ in range(20):
        rehearsal.train_step(rows)
    after = sum(rehearsal.losses(rows).values())
    rehearsal.network.load_state_dict(untrained)
    before = sum(rehearsal.losses(rows).values())
    assert after < before, "with the same state of the method the trained network is better"


@pytest.mark.parametrize("name", METHODS)
def test_saved_state_goes_on_with_the_identical_step(name):
    first = runnable(name)
    for _ in range(2):
        first.epoch()
    first.train_step(ALL[:BATCH])
    assert all(isinstance(value, Tensor) for value in first.method.state().values())
    second = first.resumed()
    for rows in (ALL[BATCH : 2 * BATCH], ALL[2 * BATCH :]):
        assert first.train_step(rows) == second.train_step(rows)
    assert first.epoch() == second.epoch()
    estimates = first.method.estimates()
    if estimates is not None:
        assert torch.equal(estimates, second.method.estimates())


@pytest.mark.parametrize("name", METHODS)
def test_batch_of_one_image(name):
    rehearsal = runnable(name)
    for row in range(3):
        assert math.isfinite(rehearsal.train_step(ALL[row : row + 1]))
    assert all(torch.isfinite(parameter).all() for parameter in rehearsal.network.parameters())


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("value", [-1, 0])
def test_batch_without_positives(name, value):
    rehearsal = runnable(name)
    labels = rehearsal.observed
    rehearsal.observed = labels.clone()
    rehearsal.observed[:BATCH][labels[:BATCH] == 1] = value
    for _ in range(2):
        assert math.isfinite(rehearsal.train_step(ALL[:BATCH]))
    assert all(torch.isfinite(parameter).all() for parameter in rehearsal.network.parameters())


@pytest.mark.parametrize("name", METHODS)
def test_hidden_truth_is_never_looked_at(name):
    observed = runnable(name).observed
    other = torch.where(observed < 0, 1 - make_truth(), make_truth())
    right = Rehearsal(name, observed, show_truth=True)
    wrong = Rehearsal(name, observed, truth=other, show_truth=True)
    same = right.epoch() + right.epoch() == wrong.epoch() + wrong.epoch()
    assert same is not right.method.needs.truth


@pytest.mark.parametrize("name", METHODS)
def test_every_preset_runs(name):
    for preset, config in getattr(methods.find(name), "PRESETS", {}).items():
        k = getattr(config, "k", None)
        if isinstance(k, float) and k > CLASSES:
            continue  # made for data with more classes
        rehearsal = Rehearsal(name, runnable(name).observed, preset=preset)
        assert all(map(math.isfinite, rehearsal.epoch()))
