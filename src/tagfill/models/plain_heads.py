"""The base of all heads, and the two plain ones: linear and class-activation maps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tagfill.errors import TagfillError
from tagfill.models.output import Output

_TINY = 1e-6
GRID = 3
"""Regions of an image along each side."""


class Head(nn.Module):
    """Turns a backbone's features into scores of K classes.

    It takes feature maps [N, D, H, W], fresh or cached; where ``reads`` is "pooled" or "grid" it
    also takes pooled features [N, D] or grids [N, D, 3, 3] of them, with the same result.
    """

    reads: Literal["pooled", "grid", "maps"] = "maps"
    classifier: Any
    __call__: Callable[..., Output]

    def forward(self, features: Tensor, maps: bool = False) -> Output:
        """Score features.

        Args:
            features: [N, D, H, W] maps, or [N, D] where the head reads pooled features.
            maps: also return where each class was seen, if the head supports it.
        """
        raise NotImplementedError

    def learn_labels(self, observed: Tensor) -> None:
        """Set up a new head from the training labels [N, K]."""

    def classify(self, features: Tensor) -> Tensor:
        """[N, K] logits of [N, K, D] label-wise features, where a head has such features."""
        raise NotImplementedError

    def train_embeddings(self, enabled: bool) -> None:
        """Unfreeze or freeze the layers that only compute embeddings."""

    def classifier_weights(self) -> tuple[Tensor, ...]:
        """The matrices that penalties on classifier weights act on, each [K, D] by default."""
        return (self.classifier.weight.flatten(1),)


@dataclass(frozen=True)
class LinearConfig:
    """Global average pooling and a fully connected layer.

    Args:
        dropout: on the pooled features.
        power: exponent on the pooled features, which keep their sign; 0.5 lifts weak features
            beside strong ones.
        unit: give the features of every image the same length, after the power.
        regions: score the image as a whole and in 3 x 3 regions, and take the mean of the whole
            and the best region; small things are often in one region only.
    """

    dropout: float = 0.0
    power: float = 1.0
    unit: bool = False
    regions: bool = False

    @property
    def reads(self) -> Literal["pooled", "grid"]:
        return "grid" if self.regions else "pooled"

    def __post_init__(self) -> None:
        if not 0 < self.power <= 1:
            raise TagfillError(
                f"power = {self.power:g} is not valid", remedy="use a number above 0, at most 1"
            )


class LinearHead(Head):
    """logits = W r(mean(map)) + b with r(x) = sign(x) |x|^power, with ``unit`` of length sqrt(D).

    Power and length are those of Perronnin et al. 2010 (improved Fisher kernel), Sec. 3. With
    ``regions`` the logits are (whole + max over regions) / 2, the whole being the regions' mean.
    """

    def __init__(self, channels: int, classes: int, config: LinearConfig) -> None:
        super().__init__()
        self.power, self.unit, self.regions = config.power, config.unit, config.regions
        self.reads = config.reads
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(channels, classes)

    def forward(self, features: Tensor, maps: bool = False) -> Output:
        """Score maps or pooled features; with ``maps``, also the scores of each cell."""
        grid = grid_of(features) if self.regions and features.ndim == 4 else None
        logits = self._scores(pooled(features if grid is None else grid))
        if grid is not None:
            logits = (logits + self._scores(grid.flatten(2).mT).amax(dim=1)) / 2
        if not maps:
            return Output(logits)
        require_maps(features, "linear")
        cells = self.classifier(self.compress(features).movedim(1, -1)).movedim(-1, 1)
        return Output(logits, maps=cells)

    def _scores(self, features: Tensor) -> Tensor:
        scores: Tensor = self.classifier(self.dropout(self.compress(features)))
        return scores

    def compress(self, features: Tensor) -> Tensor:
        """sign(x) (|x| + tiny)^power; the addend keeps the gradient finite near 0."""
        if self.power != 1:
            size = features.abs() + _TINY
            size = size.sqrt() if self.power == 0.5 else size.pow(self.power)
            features = features.sign() * size
        if not self.unit:
            return features
        axis = 1 if features.ndim == 4 else -1
        return F.normalize(features, dim=axis) * math.sqrt(features.shape[axis])


def pooled(features: Tensor) -> Tensor:
    """[B, D] means of [B, D, H, W] maps; pooled features as they are."""
    return features.mean(dim=(2, 3)) if features.ndim == 4 else features


def grid_of(maps: Tensor) -> Tensor:
    """[B, D, 3, 3] means of the regions of [B, D, H, W] maps; they overlap if 3 does not divide H.

    A grid stays as it is. Plain slices, which every exporter knows.
    """
    for axis in (2, 3):
        size = int(maps.shape[axis])  # a plain number while a graph is traced
        bounds = [(part * size // GRID, -(-(part + 1) * size // GRID)) for part in range(GRID)]
        parts = [maps.narrow(axis, start, stop - start).mean(dim=axis) for start, stop in bounds]
        maps = torch.stack(parts, axis)
    return maps


@dataclass(frozen=True)
class CamConfig:
    """A score for every cell and class, then the mean over cells.

    Args:
        boost: factor on positive cells before the mean; the alpha of the method ``boostlu``.
    """

    boost: float = 1.0


class CamHead(Head):
    """maps = 1x1 convolution; logits = mean of the maps, positive cells times ``boost``."""

    def __init__(self, channels: int, classes: int, config: CamConfig) -> None:
        super().__init__()
        self.boost = config.boost
        self.classifier = nn.Conv2d(channels, classes, kernel_size=1)

    def forward(self, features: Tensor, maps: bool = False) -> Output:
        """Score maps; the class-activation maps are always returned, without the boost."""
        require_maps(features, "cam")
        activation = self.classifier(features)
        return Output(boosted_logits(activation, alpha=self.boost), maps=activation)


def boosted_logits(maps: Tensor, *, alpha: float = 5.0) -> Tensor:
    """Spatial mean of class-activation maps whose positive values are multiplied by alpha.

    mean over positions of a where a <= 0, alpha a where a > 0

    Kim et al. 2023 (BoostLU).

    Args:
        maps: [N, K, H, W].
        alpha: 1 gives the plain logits of average pooling.

    Returns:
        [N, K] logits.
    """
    return torch.where(maps > 0, alpha * maps, maps).mean(dim=(2, 3))


def require_maps(features: Tensor, head: str) -> None:
    """Refuse pooled features if a head needs maps."""
    if features.ndim != 4:
        raise TagfillError(
            f"the {head} head needs feature maps, not pooled features",
            remedy="cache maps instead of pooled features, or run it on images",
        )
