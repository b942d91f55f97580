"""Train a linear head on a feature matrix: the training loop without files and run folders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tagfill.arrays import Matrix
from tagfill.errors import TagfillError
from tagfill.evaluate.selection import choose_criterion
from tagfill.labels import Labels
from tagfill.linear.threads import single_thread
from tagfill.methods.base import Method, Needs
from tagfill.models.plain_heads import Head, LinearConfig, LinearHead
from tagfill.train.config import StageConfig
from tagfill.train.events import Events
from tagfill.train.forward import StageData, Validate
from tagfill.train.inputs import FeatureInputs, derived_seed
from tagfill.train.loop import Stage, stage_seed
from tagfill.train.method import Positives, begin, make_method
from tagfill.train.processes import make_accelerator


@dataclass(frozen=True)
class LinearFit:
    head: LinearHead
    method: Method
    best_epoch: int
    history: list[dict[str, Any]]


def fit_linear(
    features: Matrix,
    observed: Labels,
    stage: StageConfig,
    *,
    seed: int = 0,
    val: tuple[Matrix, Labels] | None = None,
) -> LinearFit:
    """Train a linear head; torch's global random state is unchanged.

    Args:
        features: [N, D].
        observed: [N, K] labels 1, 0, -1.
        val: features and labels to select the epoch by; without them the last epoch is used.

    Raises:
        TagfillError: the method cannot learn from these labels, or from features alone.
    """
    with torch.random.fork_rng(devices=[]), single_thread():
        torch.manual_seed(derived_seed(seed, 0))
        head = LinearHead(features.shape[1], observed.shape[1], LinearConfig())
        method = make_method(stage)
        require_features_suffice(method.needs, stage.method.name)
        data = _stage_data(features, observed, val)
        events = Events()
        positives = Positives(data.observed, lambda: features, events)
        loop = train_head(head, method, stage, data, positives, seed=seed, events=events)
    return LinearFit(head.eval(), method, loop.selector.best_epoch, loop.history)


def train_head(
    head: Head,
    method: Method,
    stage: StageConfig,
    data: StageData,
    positives: Positives,
    *,
    seed: int,
    events: Events,
) -> Stage:
    """Train a head on features, without a run folder; returns the finished stage."""
    accelerator = make_accelerator()
    begin(method, stage, data, positives, seed=seed, device=accelerator.device)
    loop = Stage(
        head, method, stage, data, accelerator=accelerator, events=events, seed=stage_seed(seed)
    )
    with single_thread(head.reads != "maps"):
        loop.run()
    return loop


def require_features_suffice(needs: Needs, method: str) -> None:
    """Refuse a method that cannot learn from one pooled feature vector per image."""
    lacking = {
        "augmented views": needs.two_views,
        "feature maps": needs.activation_maps,
        "label-wise embeddings": needs.embeddings,
        "label-wise features": needs.label_features,
    }
    for what, needed in lacking.items():
        if needed:
            raise TagfillError(
                f"{method} needs {what}, but there is only one feature vector per image",
                remedy="train it on images, or use a method such as em",
            )


def _stage_data(features: Matrix, observed: Labels, val: tuple[Matrix, Labels] | None) -> StageData:
    inputs = FeatureInputs(_tensor(features))
    labels = torch.from_numpy(np.array(observed, dtype=np.int8))
    if val is None:
        return StageData(inputs, labels)
    val_features, val_labels = val
    criterion = choose_criterion(val_labels)
    validate: Validate = lambda logits: criterion.score(logits.numpy(), val_labels)  # noqa: E731
    val_inputs = FeatureInputs(_tensor(val_features))
    return StageData(
        inputs, labels, val_inputs=val_inputs, validate=validate, criterion=criterion.name
    )


def _tensor(features: Matrix) -> torch.Tensor:
    return torch.from_numpy(np.array(features, dtype=np.float32, order="C"))
