"""Each setting of a batched grid ends where its own single run would."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.methods.base import ElementwiseMethod
from tagfill.models.plain_heads import LinearConfig, LinearHead
from tagfill.train import grid
from tagfill.train.batched import Batched, Setting
from tagfill.train.config import MethodConfig, StageConfig
from tagfill.train.events import Events
from tagfill.train.forward import StageData
from tagfill.train.grid import train_grid
from tagfill.train.inputs import FeatureInputs, derived_seed
from tagfill.train.linear import require_features_suffice
from tagfill.train.method import Positives

IMAGES, FEATURES, CLASSES = 44, 10, 5
SETTLED = {"likelihood": {"writer": "some", "strength": 0.1, "transform": "plain"}}
"""What a method would choose by a hundred fits for each setting."""


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def make_data(seed: int = 0) -> StageData:
    draw = np.random.default_rng(seed)
    features = draw.normal(size=(IMAGES + 30, FEATURES)).astype(np.float32)
    truth = (features @ draw.normal(size=(FEATURES, CLASSES)) > 1).astype(np.int8)
    truth[:, 0] |= truth.sum(1) == 0
    known = draw.random((IMAGES, CLASSES)) < 0.5
    observed = np.where(known | (truth[:IMAGES].cumsum(1) == 1), truth[:IMAGES], -1)
    evaluated = truth[IMAGES:]
    return StageData(
        FeatureInputs(torch.from_numpy(features[:IMAGES])),
        torch.from_numpy(observed.astype(np.int8)),
        truth=torch.from_numpy(truth[:IMAGES]),
        val_inputs=FeatureInputs(torch.from_numpy(features[IMAGES:])),
        validate=lambda logits: float(logits[torch.from_numpy(evaluated == 1)].mean()),
        criterion="mAP",
    )


def make_head(seed: int) -> LinearHead:
    torch.manual_seed(derived_seed(seed, 0))
    return LinearHead(FEATURES, CLASSES, LinearConfig())


def positives_of(data: StageData) -> Positives:
    assert isinstance(data.inputs, FeatureInputs)
    features = data.inputs.features
    assert isinstance(features, torch.Tensor)
    return Positives(data.observed, features.numpy, Events())


def train(settings: list[Setting], data: StageData) -> list[grid.Outcome]:
    return train_grid(settings, data, make_head, positives_of(data), Events())


def assert_same(batched: list[grid.Outcome], alone: list[grid.Outcome]) -> None:
    for one, other in zip(batched, alone, strict=True):
        assert one.error == other.error
        assert one.best_epoch == other.best_epoch
        assert one.best_score == pytest.approx(other.best_score, abs=1e-4)
        assert len(one.history) == len(other.history)
        assert set(one.weights) == set(other.weights)
        for name, weights in one.weights.items():
            torch.testing.assert_close(weights, other.weights[name], atol=1e-5, rtol=0)


def on_features(name: str) -> bool:
    try:
        require_features_suffice(methods.find(name).INFO.needs, name)
    except TagfillError:
        return False
    return True


@pytest.mark.parametrize("name", [name for name in methods.names() if on_features(name)])
def test_every_method_ends_where_its_single_run_ends(name, monkeypatch):
    data = make_data()
    if not methods.make(name).needs.truth:
        data = replace(data, truth=None)
    method = MethodConfig(name, None, SETTLED.get(name, {}))
    stage = StageConfig(method, epochs=3, batch_size=16)
    settings = [
        Setting(replace(stage, learning_rate=rate, batch_size=size), seed)
        for rate, size, seed in product((1e-2, 1e-3), (8, 16), (0, 1))
    ]
    batched = train(settings, data)
    assert all(outcome.error is None for outcome in batched), batched[0].error
    assert_same(batched, [train([setting], data)[0] for setting in settings])


def test_heads_that_take_roots_of_features_are_trained_together_too():
    data = make_data()

    def rooted(seed: int) -> LinearHead:
        torch.manual_seed(derived_seed(seed, 0))
        return LinearHead(FEATURES, CLASSES, LinearConfig(power=0.5))

    stage = StageConfig(MethodConfig("em"), epochs=2, batch_size=16)
    settings = [Setting(replace(stage, learning_rate=rate), 0) for rate in (1e-2, 1e-3)]
    positives = positives_of(data)
    batched = train_grid(settings, data, rooted, positives, Events())
    alone = [train_grid([setting], data, rooted, positives, Events())[0] for setting in settings]
    assert_same(batched, alone)
    assert batched[0].best_score != train(settings, data)[0].best_score


def test_one_pass_serves_all_settings_of_a_batch_size(monkeypatch):
    passes = []
    monkeypatch.setattr(
        grid,
        "Batched",
        lambda settings, *rest, **more: (
            passes.append(len(settings)) or Batched(settings, *rest, **more)
        ),
    )
    stage = StageConfig(MethodConfig("em"), epochs=1)
    rates = (1e-2, 1e-3, 1e-4, 1e-5)
    train(
        [Setting(replace(stage, learning_rate=r, batch_size=b)) for r in rates for b in (8, 16)],
        make_data(),
    )
    assert passes == [4, 4]


def test_different_methods_settings_schedules_and_decay_in_one_grid():
    stage = StageConfig(MethodConfig("em"), epochs=4, optimizer="adamw", schedule="one_cycle")
    settings = [
        Setting(replace(stage, method=MethodConfig("em", None, {"alpha": 0.05}))),
        Setting(replace(stage, method=MethodConfig("role"), weight_decay=0.1)),
        Setting(replace(stage, method=MethodConfig("em", None, {"alpha": 0.5}), patience=0)),
        Setting(replace(stage, method=MethodConfig("an"), learning_rate=0.1)),
        Setting(replace(stage, method=MethodConfig("an"), learning_rate=0.01, weight_decay=0.3)),
    ]
    data = replace(make_data(), truth=None)
    assert_same(train(settings, data), [train([setting], data)[0] for setting in settings])


def test_what_cannot_be_batched_is_trained_alone(monkeypatch):
    monkeypatch.setattr(grid, "Batched", None)
    stage = StageConfig(MethodConfig("em"), epochs=1)
    outcomes = train(
        [Setting(replace(stage, ema=0.9)), Setting(replace(stage, clip=1.0)), Setting(stage)],
        make_data(),
    )
    assert [outcome.error for outcome in outcomes] == [None] * 3


def test_rounds_that_fit_memory(monkeypatch):
    monkeypatch.setattr(grid, "WEIGHTS_AT_ONCE", 2 * (FEATURES + 1) * CLASSES)
    stage = StageConfig(MethodConfig("em"), epochs=2)
    settings = [
        Setting(replace(stage, learning_rate=rate)) for rate in (0.1, 0.01, 1e-3, 1e-4, 1e-5)
    ]
    batched = train(settings, make_data())
    assert_same(batched, [train([setting], make_data())[0] for setting in settings])


def test_a_setting_that_fails_does_not_spoil_the_others():
    stage = StageConfig(MethodConfig("em"), epochs=2)
    hopeless = replace(stage, learning_rate=3e38)
    impossible = replace(stage, method=MethodConfig("em_apl", None, {"warmup": 7.0}))
    data = make_data()
    lost, refused, *fine = train(
        [Setting(hopeless), Setting(impossible), Setting(stage), Setting(stage, seed=1)], data
    )
    assert "not finite" in lost.error
    assert not lost.weights
    assert "warm-up" in refused.error
    assert_same(fine, [train([Setting(stage, seed)], data)[0] for seed in (0, 1)])


def test_loss_that_depends_on_the_batch_is_never_computed_for_all_heads_at_once(monkeypatch):
    def centered(logits, observed):
        return (logits - logits.mean()) ** 2 + observed.float().mean() * logits

    monkeypatch.setattr(methods, "make", lambda *_: _with_needs(ElementwiseMethod("odd", centered)))
    stage = StageConfig(MethodConfig("em"), epochs=2)
    settings = [Setting(replace(stage, learning_rate=rate)) for rate in (0.1, 0.01)]
    data = make_data()
    assert_same(train(settings, data), [train([setting], data)[0] for setting in settings])


def _with_needs(method):
    method.needs = methods.find("em").INFO.needs
    return method
