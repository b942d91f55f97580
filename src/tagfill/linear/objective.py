"""What linear heads minimize, image by image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from tagfill.losses.likelihood import Writer, spread_penalty, value_and_gradient

ROWS = 16_384
"""Images whose entries are counted at a time."""


class Objective(Protocol):
    """What is minimized, image by image."""

    @property
    def classes(self) -> int:
        """K."""

    def __call__(self, logits: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
        """Terms [n] of some rows, and their derivatives [n, K] by the logits."""

    def start(self) -> Tensor:
        """[K] biases to start from."""

    def subset(self, rows: Tensor) -> Objective:
        """The same of some of the images."""


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The objective: likelihood of the labels, smoothed where the labels say something.

    Args:
        observed: [N, K] labels 1, 0, -1.
        writer: of the N images.
        smoothing: weight of softplus(g) + softplus(-g) on known entries; an unknown entry has its
            share of it, the chance that its tag would have been written.
    """

    observed: Tensor
    writer: Writer
    smoothing: float = 0.0

    @property
    def classes(self) -> int:
        """K."""
        return self.observed.shape[1]

    def __call__(self, logits: Tensor, rows: slice | Tensor) -> tuple[Tensor, Tensor]:
        """Terms and derivatives of some rows."""
        observed, writer = self.observed[rows], self.writer.rows(rows)
        value, gradient = value_and_gradient(logits, observed, writer)
        if self.smoothing == 0:
            return value, gradient
        share = self.smoothing * information(observed, writer).to(logits)
        value = value + (share * spread_penalty(logits)).sum(1)
        return value, gradient + share * torch.tanh(logits / 2)

    def subset(self, rows: Tensor) -> Likelihood:
        """The same of some of the images."""
        return Likelihood(self.observed[rows], self.writer.rows(rows), self.smoothing)

    def start(self) -> Tensor:
        """[K] biases to start from: how often each tag is there among entries that tell."""
        positives = torch.zeros(self.classes).double()
        size = torch.zeros(self.classes).double()
        for start in range(0, len(self.observed), ROWS):
            rows = slice(start, start + ROWS)
            positives += (self.observed[rows] == 1).sum(0)
            size += information(self.observed[rows], self.writer.rows(rows)).sum(0)
        rate = (positives + 0.5) / (size + 1).maximum(positives + 1)
        return torch.logit(rate)


def information(observed: Tensor, writer: Writer) -> Tensor:
    """[N, K] how much an entry tells: known ones 1, unknown ones the chance of being written."""
    weight = torch.softmax(writer.log_weight, 1)
    written = 1 - (weight * writer.unwritten).sum(1, keepdim=True)
    return torch.where(observed < 0, written, 1.0)
