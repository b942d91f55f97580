"""Linear heads on fixed features that a method solves directly, without epochs."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from tagfill.errors import TagfillError
from tagfill.linear.basis import TRANSFORMS, Transform
from tagfill.linear.problem import LinearProblem, LinearWeights
from tagfill.linear.regions import Features
from tagfill.methods.base import Method
from tagfill.models.plain_heads import LinearHead, pooled
from tagfill.train.config import StageConfig
from tagfill.train.forward import StageData
from tagfill.train.inputs import FeatureInputs, as_rows

ROOTS = 0.5
"""The head's power for square roots, which are then scaled to unit length."""
OWN: tuple[Transform, ...] = ("plain", "standard")
"""Allowed transforms of features that the head has already compressed."""


def solve_head(
    network: nn.Module,
    method: Method,
    config: StageConfig,
    data: StageData,
    *,
    seed: int,
    last: bool,
) -> LinearWeights | None:
    """Give a linear head the weights its method finds; None if the loop has to train it.

    Args:
        last: no stage follows, so that the head may choose its feature transform.
    """
    inputs = data.inputs
    if not (isinstance(network, LinearHead) and isinstance(inputs, FeatureInputs)):
        _refuse_l2(config, "it trains more than a linear head on fixed features")
        return None
    if network.dropout.p > 0:
        _refuse_l2(config, "the head has dropout")
        return None
    plain = network.power == 1 and not network.unit
    free = last and plain
    with torch.no_grad():
        problem = LinearProblem(
            _features(network, inputs, by_regions=network.regions and plain),
            data.observed,
            data.truth,
            TRANSFORMS if free else OWN,
            config.l2,
            seed,
            data.reviewed,
        )
        solution = method.solve(problem)
        if solution is None:
            _refuse_l2(config, "its loss is not one of single entries")
            return None
        if solution.roots:
            network.power, network.unit = ROOTS, True
        network.classifier.weight.copy_(solution.weight)
        network.classifier.bias.copy_(solution.bias)
    return solution


def _features(head: LinearHead, inputs: FeatureInputs, *, by_regions: bool) -> Features:
    """[N, D] as the head compresses them, or [N, D, 3, 3] by regions."""
    features, plain = inputs.features, head.power == 1 and not head.unit
    if (by_regions and len(features.shape) == 4) or (plain and len(features.shape) == 2):
        return as_rows(features)
    rows = inputs.plain(range(len(inputs)))
    return np.concatenate([head.compress(pooled(part)).numpy() for part in rows])


def _refuse_l2(config: StageConfig, why: str) -> None:
    if config.l2 is not None:
        raise TagfillError(
            f"{config.method.name} cannot be trained with --l2: {why}",
            remedy="use --weight-decay, or --method likelihood",
        )
