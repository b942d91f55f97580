"""Quality of features: the best backbone and size whose extraction takes five minutes here.

Resolution and a larger backbone improve mAP most per second (docs/results/features.md); flipped
views, maxima and features of earlier layers help less or not at all. The choice is made once, when
a run starts, and saved in ``config.toml``; resuming and reporting use it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from PIL import Image

from tagfill.images import FORMATS, open_photo
from tagfill.models.factory import build_backbone
from tagfill.models.graphs import feature_engine
from tagfill.models.heads import configure_head
from tagfill.models.presets import DEFAULT, OFFLINE
from tagfill.train.cache import content_hashes, stores
from tagfill.train.config import RunConfig
from tagfill.train.resolve import OF_THE_BACKBONE, Request

SECONDS = 300.0
"""Seconds that features may take by default."""
ENLARGED = 1.5
"""Largest enlargement of images; more adds no detail."""
DECODING = 1.15
"""Factor for the part of decoding that does not overlap with inference."""
_TIMED_SECONDS, _SAMPLE = 2.0, 64


@dataclass(frozen=True)
class Step:
    """A backbone and an input size.

    Args:
        backbone: one that needs no download.
        cost: time per image relative to the first step.
        gain: validation mAP over the first step, about.
    """

    quality: Literal["fast", "good", "best"]
    backbone: str
    size: int
    cost: float
    gain: float

    def __str__(self) -> str:
        return f"{self.quality} ({self.backbone}, {self.size} px)"


LARGER = "efficientnet_lite2"
STEPS = (
    Step("fast", DEFAULT, 224, 1.0, 0.0),
    Step("good", LARGER, 320, 2.6, 3.5),
    Step("best", LARGER, 448, 5.2, 4.5),
)


def choose_quality(
    config: RunConfig, request: Request, paths: Sequence[Path]
) -> tuple[RunConfig, list[str]]:
    """The configuration with an input size, and why it is this one.

    Args:
        request: a backbone or size that the user named is left as it is.
        paths: all images whose features will be needed.
    """
    named = any(request.overrides.get(name) is not None for name in (*OF_THE_BACKBONE, "init"))
    fixed = all(stage.inputs == "features" for stage in config.stages)
    if named or request.protocol is not None or not fixed or not paths:
        return config, []
    steps = _useful(paths)
    if config.model.quality == "auto":
        model = config.model
        head = configure_head(model.head, model.head_settings, model.head_preset)
        step, note = _affordable(steps, paths, getattr(head, "reads", "maps"))
    else:
        step = next((step for step in steps if step.quality == config.model.quality), steps[-1])
        note = f"quality: {step}"
        if step.quality != config.model.quality:
            note += "; the photos are too small for more"
    model = replace(
        config.model, quality=step.quality, backbone=step.backbone, input_size=step.size
    )
    return replace(config, model=model), [note]


def _useful(paths: Sequence[Path]) -> list[Step]:
    """The steps that can help for photos of this size; always the first."""
    sides = []
    for path in paths[:: max(1, len(paths) // _SAMPLE)]:
        try:
            with open_photo(path) as file, Image.open(file, formats=FORMATS) as image:
                sides.append((image.width * image.height) ** 0.5)
        except Exception:  # noqa: S112 (reported later, when it is decoded)
            continue
    side = float(np.median(sides)) if sides else 0.0
    larger = [step for step in STEPS[1:] if step.size <= ENLARGED * side]
    return [STEPS[0], *(step for step in larger if OFFLINE[step.backbone].is_installed)]


def _affordable(steps: Sequence[Step], paths: Sequence[Path], kind: str) -> tuple[Step, str]:
    known = [step for step in steps if _is_cached(step, paths, kind)]
    if known:
        step = known[-1]
        return step, f"quality: {step}: features are cached"
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:  # processes must agree, and their timings differ
        step = steps[min(1, len(steps) - 1)]
        return step, f"quality: {step}; not timed"
    seconds = len(paths) * _seconds_an_image() * DECODING
    chosen = max(
        (number for number, step in enumerate(steps) if step.cost * seconds <= SECONDS), default=0
    )
    step = steps[chosen]
    note = (
        f"quality: {step}: features of {len(paths):,} images take about"
        f" {_shown(step.cost * seconds)}"
    )
    if chosen + 1 < len(steps):
        more = steps[chosen + 1]
        note += (
            f"; --quality {more} would take {_shown(more.cost * seconds)} and add about"
            f" {more.gain - step.gain:.0f} mAP"
        )
    elif step.size < STEPS[-1].size:
        note += "; the photos are too small for more"
    return step, note


def _is_cached(step: Step, paths: Sequence[Path], kind: str) -> bool:
    fitting = [
        store
        for store in stores()
        if store.about.get("backbone") == step.backbone
        and store.about.get("input_size") == step.size
        and store.about.get("view") == "plain"
        and store.about.get("kind") == kind
        and store.images >= len(set(paths))
    ]
    if not fitting:
        return False
    hashes = set(content_hashes(paths))
    return any(hashes <= store.hashes for store in fitting)


def _seconds_an_image() -> float:
    """Measured time per image of the first step's network."""
    backbone = build_backbone(DEFAULT, size=STEPS[0].size)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    run = feature_engine(backbone, "pooled", device).run
    batch = np.zeros((8, 3, STEPS[0].size, STEPS[0].size), dtype=np.float32)
    run(batch)
    started, images = time.monotonic(), 0
    while time.monotonic() - started < _TIMED_SECONDS:
        run(batch)
        images += len(batch)
    return (time.monotonic() - started) / images


def _shown(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
