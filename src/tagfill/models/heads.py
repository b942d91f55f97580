"""Heads by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any

from tagfill.errors import TagfillError
from tagfill.models.graph_heads import SSGRL_PRESETS, MlGcnConfig, MlGcnHead, SsgrlConfig, SsgrlHead
from tagfill.models.plain_heads import CamConfig, CamHead, Head, LinearConfig, LinearHead
from tagfill.models.query_heads import (
    LEM_PRESETS,
    Q2L_PRESETS,
    LemConfig,
    LemHead,
    Q2LConfig,
    Q2LHead,
)
from tagfill.settings import configured

HeadConfig = LinearConfig | CamConfig | Q2LConfig | LemConfig | SsgrlConfig | MlGcnConfig


@dataclass(frozen=True)
class HeadKind:
    """A kind of head.

    Args:
        gives: its outputs other than scores.
        shows: what its maps are.
    """

    config: type[HeadConfig]
    head: Callable[..., Head]
    presets: Mapping[str, HeadConfig] = dataclasses.field(default_factory=dict)
    gives: Set[str] = frozenset()
    shows: str = "class activation"


HEADS: dict[str, HeadKind] = {
    "linear": HeadKind(LinearConfig, LinearHead),
    "q2l": HeadKind(Q2LConfig, Q2LHead, Q2L_PRESETS, shows="cross-attention"),
    "lem": HeadKind(LemConfig, LemHead, LEM_PRESETS, {"embeddings"}, "cross-attention"),
    "cam": HeadKind(CamConfig, CamHead, gives={"activation_maps"}),
    "ssgrl": HeadKind(SsgrlConfig, SsgrlHead, SSGRL_PRESETS, {"label_features"}, "attention"),
    "ml_gcn": HeadKind(MlGcnConfig, MlGcnHead),
}


def head_giving(needs: Set[str]) -> str | None:
    """The first head with all of these outputs; None if nothing is needed."""
    fitting = (name for name, kind in HEADS.items() if needs and needs <= kind.gives)
    return next(fitting, None)


def configure_head(
    name: str, settings: Mapping[str, Any] | None = None, preset: str | None = None
) -> HeadConfig:
    """A head's configuration from a preset and single settings; unknown names are errors."""
    kind = HEADS.get(name)
    if kind is None:
        raise TagfillError(f"there is no head {name!r}", remedy=f"use one of {', '.join(HEADS)}")
    return configured(name, kind.config, kind.presets, settings, preset)


def head_name(config: HeadConfig) -> str:
    return next(name for name, kind in HEADS.items() if kind.config is type(config))


def build_head(config: HeadConfig, channels: int, classes: int) -> Head:
    """The head whose settings these are."""
    return HEADS[head_name(config)].head(channels, classes, config)
