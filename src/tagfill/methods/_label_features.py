"""Base of the methods on label-wise features."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from tagfill.errors import TagfillError
from tagfill.losses.transfer import label_contrast
from tagfill.methods._state import Stateful
from tagfill.methods.base import Method, Setup, Step


class Examples(Stateful):
    """Features of the last images that showed each class.

    Args:
        count: number of images per class.
    """

    kept = ("features", "filled")

    def __init__(self, setup: Setup, count: int) -> None:
        self.classes, self.count, self.device = setup.classes, count, setup.device
        self.features = torch.zeros(0, device=setup.device)
        self.filled = torch.zeros(setup.classes, dtype=torch.int64, device=setup.device)

    def add(self, features: Tensor, observed: Tensor) -> None:
        """Add the batch's observed positives and drop the oldest."""
        if not self.features.numel():
            shape = (self.classes, self.count, features.shape[2])
            self.features = torch.zeros(shape, device=self.device)
        features = features.detach()
        for k in torch.nonzero((observed == 1).any(dim=0)).flatten().tolist():
            new = features[observed[:, k] == 1, k]
            self.features[k] = torch.cat([new.to(self.features), self.features[k]])[: self.count]
            self.filled[k] = (self.filled[k] + len(new)).clamp(max=self.count)

    def of(self, k: int) -> Tensor:
        """[n, D] stored features of a class."""
        return self.features[k, : int(self.filled[k])]

    def similarity(self, features: Tensor) -> Tensor:
        """[B, K] mean cosine with the examples of each class; 0 where there are none."""
        if not self.features.numel():
            return torch.zeros(features.shape[:2], device=features.device)
        means = F.normalize(self.features, dim=2).sum(dim=1) / self.filled.clamp(min=1)[:, None]
        return (F.normalize(features, dim=2) * means.to(features)).sum(dim=2)


class LabelFeatureMethod(Method):
    """Base of methods that store features of the last observed positives.

    Args:
        examples: number of images per class.
    """

    def __init__(self, name: str, examples: int) -> None:
        self.name, self.examples = name, examples

    def start(self, setup: Setup) -> None:
        super().start(setup)
        self.setup = setup
        self.seen = Examples(setup, self.examples)

    def after_step(self, step: Step) -> None:
        """Store the features of observed positives."""
        self.seen.add(self.features(step), step.observed)

    def features(self, step: Step) -> Tensor:
        """[B, K, D] of the batch."""
        if step.output.features is None or step.classify is None:
            raise TagfillError(
                f"{self.name} needs label-wise features, which this head does not give",
                remedy="use the `ssgrl` head",
            )
        return step.output.features

    def contrast(self, step: Step, weight: float) -> Tensor:
        """The weighted contrast of the features, faded in during the first epoch."""
        contrast = label_contrast(self.features(step), step.observed, step.generator)
        return self.faded_in(step) * weight * contrast

    def faded_in(self, step: Step) -> float:
        """0 at the first step, 1 from the second epoch on."""
        return 1.0 if step.epoch > 1 else step.step / max(self.setup.steps_per_epoch, 1)
