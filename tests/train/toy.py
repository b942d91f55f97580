"""A stage on the toy data of the method tests."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from tests.methods.harness import ToyNetwork, make_features, make_truth, some_of_each
from torch import Tensor

from tagfill import methods
from tagfill.methods.base import Setup
from tagfill.train.config import MethodConfig, StageConfig
from tagfill.train.events import Events
from tagfill.train.forward import StageData
from tagfill.train.inputs import FeatureInputs
from tagfill.train.limits import Limits
from tagfill.train.loop import Stage
from tagfill.train.processes import make_accelerator

BASE = StageConfig(MethodConfig("an"), epochs=6, batch_size=8, learning_rate=0.05)


class StopAfter:
    """A sink that asks to stop after so many batches."""

    def __init__(self, limits: Limits, batches: int | None) -> None:
        self.limits, self.left, self.epochs = limits, math.inf if batches is None else batches, []

    def event(self, kind: str, metadata: Any) -> None:
        if kind == "epoch":
            self.epochs.append(metadata)

    def progress(self, done: int, total: int, label: str) -> None:
        self.left -= 1
        self.limits.stop_requested = self.left <= 0

    def close(self) -> None:
        pass


def toy_stage(name: str = "an", *, stop_after: int | None = None, **settings: Any) -> Stage:
    """A stage ready to run; ``stage.kept`` collects its checkpoints."""
    config = replace(BASE, method=MethodConfig(name), **settings)
    truth = make_truth()
    observed, features = some_of_each(truth), make_features(truth)
    method = methods.make(name)
    wanted_truth = truth if method.needs.truth else None
    method.start(
        Setup(
            observed=observed,
            epochs=config.epochs,
            steps_per_epoch=3,
            learning_rate=config.learning_rate,
            expected_positives=float(truth.float().sum(1).mean()),
            class_prior=truth.float().mean(0),
            truth=wanted_truth,
        )
    )
    generator = torch.Generator().manual_seed(5)
    noise = 0.1 * torch.randn((3, *features.shape), generator=generator)
    strong = list(features + noise) if method.needs.two_views else None

    def validate(logits: Tensor) -> float:
        return -float(torch.nn.functional.binary_cross_entropy_with_logits(logits, truth.float()))

    data = StageData(
        FeatureInputs(features, strong),
        observed,
        wanted_truth,
        FeatureInputs(features),
        validate,
        hidden=truth,
    )
    limits = Limits(save_seconds=0.0)
    kept: list[Any] = []
    sink = StopAfter(limits, stop_after)
    stage = Stage(
        ToyNetwork(),
        method,
        config,
        data,
        accelerator=make_accelerator(),
        events=Events(sink),
        keep=lambda tensors, metadata: kept.append((_copied(tensors), metadata)),
        seed=3,
        limits=limits,
    )
    stage.kept, stage.sink = kept, sink  # type: ignore[attr-defined]
    return stage


def _copied(tensors: dict[str, dict[str, Tensor]]) -> dict[str, dict[str, Tensor]]:
    return {
        group: {name: tensor.detach().clone() for name, tensor in members.items()}
        for group, members in tensors.items()
    }
