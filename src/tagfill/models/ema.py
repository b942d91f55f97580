"""A slow copy of a network: the exponential moving average of its weights."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

ModuleT = TypeVar("ModuleT", bound=nn.Module)
_STEPS = "ema.steps"


class Ema(Generic[ModuleT]):
    """``module`` follows the trained network: w <- d w + (1 - d) w_trained after every step.

    Warm-up: d = min(decay, (1 + t) / (10 + t)) at step t, so that random first weights are
    forgotten soon. Without warm-up d = decay throughout, as published (0.9997).

    Args:
        module: what to follow; copied, with gradients off and in evaluation mode.
        warmup: whether to start with a smaller d.
    """

    def __init__(self, module: ModuleT, decay: float = 0.9997, *, warmup: bool = True) -> None:
        self.module = deepcopy(module).eval().requires_grad_(False)
        self.decay = decay
        self.warmup = warmup
        self.steps = 0

    @torch.no_grad()
    def update(self, trained: nn.Module) -> None:
        """Move towards the trained network; counters and other integers are copied."""
        self.steps += 1
        ramp = (1 + self.steps) / (10 + self.steps)
        decay = min(self.decay, ramp) if self.warmup else self.decay
        slow, fast = self._tensors(self.module), self._tensors(trained)
        floating = [name for name, tensor in slow.items() if tensor.is_floating_point()]
        torch._foreach_lerp_(
            [slow[name] for name in floating],
            [fast[name].to(slow[name]) for name in floating],
            1 - decay,
        )
        for name in slow.keys() - set(floating):
            slow[name].copy_(fast[name])

    def _tensors(self, module: nn.Module) -> dict[str, Tensor]:
        return module.state_dict()

    def state_dict(self) -> dict[str, Tensor]:
        """Weights and step count, as tensors."""
        return {**self.module.state_dict(), _STEPS: torch.tensor(self.steps)}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        weights = dict(state)
        self.steps = int(weights.pop(_STEPS))
        self.module.load_state_dict(weights)
