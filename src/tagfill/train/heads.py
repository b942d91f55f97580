"""Many linear heads as one module: one matrix product for all of them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tagfill.models.head import LinearHead
from tagfill.models.output import Output


class Heads(nn.Module):
    """G linear heads side by side, each with weights of its own.

    Args:
        heads: G heads over the same D features and K classes; they are copied.
    """

    def __init__(self, heads: Sequence[LinearHead]) -> None:
        super().__init__()
        layers = [head.classifier for head in heads]
        self.weight = nn.Parameter(torch.stack([layer.weight.detach() for layer in layers]))
        self.bias = nn.Parameter(torch.stack([layer.bias.detach() for layer in layers]))
        self._parts = [
            [nn.Parameter(self.weight.data[number]), nn.Parameter(self.bias.data[number])]
            for number in range(len(heads))
        ]

    def forward(self, features: Tensor) -> Output:
        """Logits [B, G, K] of features [B, D] seen by all heads, or [G, B, D] by one head each."""
        if features.ndim == 3:
            each = torch.baddbmm(self.bias[:, None], features, self.weight.mT)
            return Output(each.movedim(0, 1))
        joint = F.linear(features, self.weight.flatten(0, 1), self.bias.flatten())
        return Output(joint.unflatten(1, self.bias.shape))

    def part(self, number: int) -> list[nn.Parameter]:
        """Weight [K, D] and bias [K] of one head, sharing memory with the whole."""
        return self._parts[number]

    def hand_out_gradients(self) -> None:
        """Move the gradient of the whole to the parts, where an optimiser looks for it."""
        assert self.weight.grad is not None
        assert self.bias.grad is not None
        gradients = zip(self.weight.grad, self.bias.grad, strict=True)
        for part, (of_weight, of_bias) in zip(self._parts, gradients, strict=True):
            part[0].grad, part[1].grad = of_weight, of_bias
        self.weight.grad = self.bias.grad = None

    def state_of(self, number: int) -> dict[str, Tensor]:
        """A copy of one head's weights, for ``LinearHead.load_state_dict``."""
        return {
            "classifier.weight": self.weight.detach()[number].clone(),
            "classifier.bias": self.bias.detach()[number].clone(),
        }
