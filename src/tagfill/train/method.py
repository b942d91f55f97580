"""Build a method and start it with its labels and the expected number of positives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from tagfill import methods
from tagfill.arrays import Matrix
from tagfill.labels import Labels
from tagfill.labels.stats import Regime
from tagfill.methods.base import Method, Needs, Setup
from tagfill.priors import PriorEstimate, complete_rows, estimate_prior, regime_of
from tagfill.train.config import RunConfig, StageConfig
from tagfill.train.events import Events
from tagfill.train.forward import StageData
from tagfill.train.model import Assembly
from tagfill.trust import trust


@dataclass(frozen=True, eq=False)
class Positives:
    """How many positives to expect, estimated once and only if a method asks.

    Args:
        features: gives the [N, D] pooled features the estimate is made from.
        validation: labels of validation images; where training labels went through a review,
            those labeled in full say more than reviewed ones.
    """

    observed: Tensor
    features: Callable[[], Matrix]
    events: Events
    validation: Labels | None = None

    def of(self, needs: Needs) -> tuple[float | None, Tensor | None]:
        """The expected number of positives per image and the class priors, as far as needed."""
        if not (needs.expected_positives or needs.class_prior):
            return None, None
        prior = torch.from_numpy(np.asarray(self._estimate.prior, dtype=np.float32))
        return float(self._estimate.expected_positives), prior

    @cached_property
    def _estimate(self) -> PriorEstimate:
        observed, val = self.observed.numpy(), self.validation
        complete = None
        if regime_of(observed) == Regime.REVIEWED and val is not None and complete_rows(val).any():
            complete = val[complete_rows(val)]
        estimate = estimate_prior(observed, features=self.features(), complete=complete)
        self.events.note(
            f"expected positives per image: {estimate.expected_positives:.2f}, estimated from the"
            f" observed labels ({estimate.how})"
        )
        return estimate


def make_method(stage: StageConfig) -> Method:
    """The method of a stage, not started."""
    return methods.make(stage.method.name, stage.method.settings, stage.method.preset)


def trust_methods(config: RunConfig) -> None:
    """Let the Python files of a configuration's methods be run."""
    for stage in config.stages:
        trust(stage.method.name)


def begin_stage(method: Method, stage: StageConfig, data: StageData, assembly: Assembly) -> None:
    events, val = assembly.events, assembly.data.val
    if method.needs.truth:
        source = "the full labels" if data.truth is not None else "the labels as they are"
        events.note(f"{stage.method.name} is an oracle: it trains on {source}")
    validation = None if val is None else val.eval_labels
    positives = Positives(data.observed, assembly.pooled_features, events, validation)
    begin(method, stage, data, positives, seed=assembly.config.seed, device=assembly.device)


def begin(
    method: Method,
    stage: StageConfig,
    data: StageData,
    positives: Positives,
    *,
    seed: int,
    device: torch.device,
) -> None:
    expected, prior = positives.of(method.needs)
    method.start(
        Setup(
            observed=data.observed,
            epochs=stage.epochs,
            steps_per_epoch=-(-len(data.inputs) // (stage.batch_size * stage.accumulate)),
            learning_rate=stage.head_learning_rate,
            device=device,
            seed=seed,
            expected_positives=expected,
            class_prior=prior,
            truth=data.truth,
        )
    )
