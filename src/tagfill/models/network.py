"""Backbone and head together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from tagfill.errors import TagfillError
from tagfill.models.backbones import Backbone
from tagfill.models.checks import check_size, whole_number
from tagfill.models.factory import (
    build_backbone,
    fits,
    known_backbone,
    rebuild_backbone,
    remember_fit,
)
from tagfill.models.heads import HeadConfig, build_head, configure_head, head_name
from tagfill.models.output import Output
from tagfill.models.plain_heads import Head, grid_of
from tagfill.models.presets import DEFAULT
from tagfill.models.spec import BackboneSpec
from tagfill.models.weights import StateDict, below


class Network(nn.Module):
    """Images in, scores of K classes out.

    ``network(images)`` runs end to end. ``network.features(images)`` gives what the head reads, to
    be cached; ``network.head(features)`` continues from there.
    """

    __call__: Callable[..., Output]

    def __init__(self, backbone: Backbone, head: Head, config: HeadConfig, classes: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head
        self.config = config
        self.classes = classes
        self._keeps_statistics = False

    def keep_statistics(self, kept: bool = True) -> None:
        """Let every BatchNorm use the statistics it has in training too; scale and shift learn."""
        self._keeps_statistics = kept
        self.train(self.training)

    def train(self, mode: bool = True) -> Network:
        """Training mode, except for layers that keep their statistics."""
        super().train(mode)
        if mode and self._keeps_statistics:
            for module in self.modules():
                if isinstance(module, _BatchNorm):
                    module.eval()
        return self

    def forward(self, images: Tensor, maps: bool = False) -> Output:
        """Score images.

        Args:
            images: [N, 3, H, W], normalized.
            maps: also return where each class was seen.
        """
        return self.head(self.backbone(images), maps)

    def features(self, images: Tensor) -> Tensor:
        """What the head reads: pooled [N, D], by regions [N, D, 3, 3] or maps [N, D, H, W]."""
        if self.head.reads == "pooled":
            return self.backbone.pooled(images)
        maps = self.backbone(images)
        return grid_of(maps) if self.head.reads == "grid" else maps

    def remember_fit(self) -> None:
        """Let later processes load this backbone without building it."""
        spec = self.backbone.spec
        if not (self.backbone.is_stored or spec.lgconv or spec.library == "features"):
            remember_fit(spec, self.backbone.state_dict())

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that ``rebuild_network`` reads."""
        return {
            "backbone": self.backbone.spec.to_json(),
            "head": {"name": head_name(self.config), "settings": asdict(self.config)},
            "classes": self.classes,
        }


def build_network(
    backbone: str = DEFAULT,
    head: str | HeadConfig = "linear",
    *,
    classes: int,
    size: int | None = None,
    pretrained: bool = True,
    weights: str | Path | None = None,
    lgconv: bool = False,
    freeze: int | None = 0,
    frozen_batch_norm: bool = False,
    frozen_statistics: bool = False,
    solved: bool = False,
) -> Network:
    """A network for training.

    Args:
        backbone, size, pretrained, weights, lgconv: see ``build_backbone``.
        head: its name, for the default settings, or a configuration.
        freeze: how many stages of the backbone to fix; None fixes all.
        frozen_batch_norm: make every BatchNorm of the backbone a fixed affine map.
        frozen_statistics: fix only the statistics of every BatchNorm, the head's too.
        solved: only the head learns, and is solved directly: a backbone that was built before is
            not built until it is run.
    """
    config = configure_head(head) if isinstance(head, str) else head
    plain = pretrained and weights is None and not (lgconv or freeze or frozen_batch_norm)
    with torch.random.fork_rng(devices=[], enabled=solved):  # the head's weights are the same
        body = known_backbone(backbone, size) if solved and plain else None
        if body is None:
            body = build_backbone(
                backbone, size=size, pretrained=pretrained, weights=weights, lgconv=lgconv
            )
            body.freeze(freeze)
            body.freeze_batch_norm(frozen_batch_norm)
    network = Network(body, build_head(config, body.spec.channels, classes), config, classes)
    network.keep_statistics(frozen_statistics)
    return network


def rebuild_network(
    description: Mapping[str, Any], most: float = math.inf, state: StateDict | None = None
) -> Network:
    """The network ``Network.to_json`` described, with random weights; needs no network access.

    Args:
        most: parameters its backbone and its head may have.
        state: the weights of the file; a backbone that they are known to fit gets them, and is
            built when it is first run.
    """
    try:
        spec = BackboneSpec.from_json(description["backbone"])
        head, settings = description["head"]["name"], description["head"]["settings"]
        classes = whole_number("the number of classes", description["classes"], 1, 10**6)
        check_size("head", settings)
        config = configure_head(head, settings)
        with torch.device("meta"):
            sketch = build_head(config, spec.channels, classes)
        if sum(parameter.numel() for parameter in sketch.parameters()) > most:
            raise TagfillError("the head described is larger than the file of its weights")
        own = below(state or {}, "backbone.")
        known = bool(own) and fits(spec, own)
        backbone = Backbone.stored(spec, own) if known else rebuild_backbone(spec, most)
        return Network(backbone, build_head(config, spec.channels, classes), config, classes)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TagfillError(f"the network's description is damaged ({error!r})") from error
    except (RuntimeError, AssertionError, ZeroDivisionError) as error:
        raise TagfillError(f"the network described cannot be built ({error})") from error
