"""Optimizers and learning-rate schedules, all from torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tagfill.methods.base import ParameterGroup
from tagfill.models.network import Network
from tagfill.train.config import OptimizerName, StageConfig

MOMENTUM = 0.9
"""Of sgd."""


def make_optimizer(
    config: StageConfig, network: nn.Module, extra: Iterable[ParameterGroup]
) -> torch.optim.Optimizer:
    """An optimizer over the network's trainable parameters and a method's own.

    It is adam (decay coupled), adamw (decay decoupled), sgd, or adafactor, whose moments need
    almost no memory. Decay is on all of the network's parameters, as the published protocols do.

    Args:
        network: a network, or a head alone, which has the learning rate itself.
        extra: groups with learning rates of their own, never decayed.
    """
    rate = config.learning_rate
    rates = {network: rate}
    if isinstance(network, Network):
        rates = {network.backbone: rate, network.head: rate * config.head_multiplier}
    groups: list[dict[str, Any]] = [
        {"params": learned, "lr": rate}
        for part, rate in rates.items()
        if (learned := [one for one in part.parameters() if one.requires_grad])
    ]
    groups += [
        {"params": group.parameters, "lr": group.learning_rate, "weight_decay": 0.0}
        for group in extra
    ]
    kinds: dict[OptimizerName, Callable[..., torch.optim.Optimizer]] = {
        "adam": partial(torch.optim.Adam, fused=True),
        "adamw": partial(torch.optim.AdamW, fused=True),
        "sgd": partial(torch.optim.SGD, momentum=MOMENTUM),
        "adafactor": torch.optim.Adafactor,
    }
    return kinds[config.optimizer](groups, lr=rate, weight_decay=config.weight_decay)


def make_schedule(
    config: StageConfig, optimizer: torch.optim.Optimizer, steps: int
) -> torch.optim.lr_scheduler.LRScheduler | None:
    """A schedule over all steps of a stage, or None for a constant learning rate.

    It is one_cycle (torch's OneCycleLR), cosine (to zero, without warm-up) or step (a tenth from
    half of the steps on); the learning rates of the optimizer's groups are the peaks.
    """
    if config.schedule == "one_cycle":
        peaks = [group["lr"] for group in optimizer.param_groups]
        return torch.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=peaks, total_steps=max(steps, 2), pct_start=config.warmup
        )
    if config.schedule == "cosine":
        return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=max(steps, 1))
    if config.schedule == "step":
        return torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[max(steps // 2, 1)])
    return None


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimizer's moments, by parameter number and name."""
    state = optimizer.state_dict()["state"]
    return {
        f"{number}.{name}": torch.as_tensor(value)
        for number, members in state.items()
        for name, value in members.items()
        if value is not None
    }


def optimizer_metadata(optimizer: torch.optim.Optimizer) -> list[dict[str, Any]]:
    """The optimizer's settings per parameter group."""
    return [
        {name: value for name, value in group.items() if name != "params"}
        for group in optimizer.state_dict()["param_groups"]
    ]


def restore_optimizer(
    optimizer: torch.optim.Optimizer,
    tensors: Mapping[str, Tensor],
    metadata: list[dict[str, Any]],
    place: Callable[[Tensor, Tensor], Tensor],
) -> None:
    """Restore moments and settings; ``place`` moves a moment to its parameter's device."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, _, name = key.partition(".")
        parameter = parameters[int(number)]
        is_moment = name != "step" and tensor.shape == parameter.shape
        placed = place(tensor, parameter.detach()) if is_moment else tensor
        state.setdefault(int(number), {})[name] = placed
    groups = [
        {**saved, "params": group["params"]}
        for saved, group in zip(metadata, optimizer.state_dict()["param_groups"], strict=True)
    ]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
