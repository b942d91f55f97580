"""Many linear heads as one module: one matrix product and one optimizer step for all."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tagfill.models.output import Output
from tagfill.models.plain_heads import LinearHead


class Heads(nn.Module):
    """G linear heads side by side, each with its own weights and learning rate.

    An optimizer has one learning rate for a tensor. So it is given the weights in units of their
    head's learning rate: steps of Adam and SGD are proportional to the rate, and a step of rate 1
    in these units is a step of each head's own rate in its weights.

    Args:
        heads: G heads over the same D features and K classes, with the same power; their weights
            are copied.
        rates: their learning rates.
        decays: their weight decays.
        decoupled: the decay is AdamW's, not part of the gradient.
    """

    def __init__(
        self,
        heads: Sequence[LinearHead],
        rates: Sequence[float],
        decays: Sequence[float],
        *,
        decoupled: bool,
    ) -> None:
        super().__init__()
        self._compress = heads[0].compress
        layers = [head.classifier for head in heads]
        self.shape = (len(layers), layers[0].out_features)
        self.weight = nn.Parameter(torch.cat([layer.weight.detach() for layer in layers]))
        self.bias = nn.Parameter(torch.cat([layer.bias.detach() for layer in layers]))
        self._rates = self._per_row(rates)
        self._decays = self._per_row(decays) if any(decays) else None
        self._decoupled = decoupled
        self.units = [
            nn.Parameter(part.detach() / _beside(self._rates, part)) for part in self.parameters()
        ]

    def forward(self, features: Tensor) -> Output:
        """Logits [B, G, K] of features [B, D] seen by all heads, or [G, B, D] by one head each."""
        features = self._compress(features)
        if features.ndim == 3:
            weight, bias = self.weight.unflatten(0, self.shape), self.bias.view(self.shape)
            return Output(torch.baddbmm(bias[:, None], features, weight.mT).movedim(0, 1))
        return Output(F.linear(features, self.weight, self.bias).view(-1, *self.shape))

    def weight_of(self, number: int) -> Tensor:
        """[K, D] of one head, for penalties on it."""
        return self.weight[self._rows(number)]

    def before_step(self, factor: float) -> None:
        """Move the gradients to the units, and apply weight decay.

        Args:
            factor: of the schedule on the learning rate at this step.
        """
        for part, unit in zip(self.parameters(), self.units, strict=True):
            unit.grad, part.grad = part.grad, None
            if self._decays is None:
                continue
            decay = _beside(self._decays, part)
            if self._decoupled:
                unit.data.mul_(1 - factor * _beside(self._rates, part) * decay)
            elif unit.grad is not None:
                unit.grad.add_(decay * part.detach())

    def after_step(self) -> None:
        """Compute the weights from their units."""
        for part, unit in zip(self.parameters(), self.units, strict=True):
            torch.mul(unit.detach(), _beside(self._rates, part), out=part.data)

    def state_of(self, number: int) -> dict[str, Tensor]:
        """A copy of one head's weights, for ``LinearHead.load_state_dict``."""
        rows = self._rows(number)
        return {
            "classifier.weight": self.weight.detach()[rows].clone(),
            "classifier.bias": self.bias.detach()[rows].clone(),
        }

    def _per_row(self, values: Sequence[float]) -> Tensor:
        """[G K] of G numbers."""
        return self.weight.new_tensor(values).repeat_interleave(self.shape[1])

    def _rows(self, number: int) -> slice:
        return slice(number * self.shape[1], (number + 1) * self.shape[1])


def _beside(rows: Tensor, part: Tensor) -> Tensor:
    return rows[:, None] if part.ndim == 2 else rows
