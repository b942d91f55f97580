"""How training sees an image: weak and strong views, and the crops of PU-MLC's protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from tagfill.compat import mend_torchvision
from tagfill.train.config import Augment

View = Callable[[Image.Image], Tensor]

RANDAUGMENT_OPERATIONS, RANDAUGMENT_MAGNITUDE = 2, 9
CUTOUT_SIDE = 0.5
JITTER = (0.4, 0.4, 0.4, 0.1)
"""Of brightness, contrast, saturation and hue, in LAC's published code."""
VIEWS_VERSION = 2
"""Counted up when the strong view changes, so that cached features of the old one are not used."""
CROPS = (512, 448, 384, 320, 256)


@dataclass(frozen=True)
class Normalization:
    """Side of the square input and the statistics it is normalized with."""

    size: int
    mean: tuple[float, ...]
    std: tuple[float, ...]


def weak_view(to: Normalization) -> View:
    """Squash to the input size and flip at random."""
    v2 = _transforms()
    return _normalized([v2.Resize((to.size, to.size)), v2.RandomHorizontalFlip()], to)


def strong_view(to: Normalization, jitter: bool = False, *, flip: bool = True) -> View:
    """A flip, Cutout of half the side, then RandAugment (two operations of magnitude 9).

    Args:
        to: size and statistics of the input.
        jitter: also shift colors and now and then turn gray, as the published code of LAC does
            (the paper does not say so).
        flip: False for the single view of Query2Label, which is never flipped.
    """
    v2 = _transforms()
    steps: list[Callable[..., object]] = [v2.RandomHorizontalFlip()] if flip else []
    steps += [
        v2.Resize((to.size, to.size)),
        v2.ToImage(),
        v2.Lambda(cut_out),
        v2.RandAugment(RANDAUGMENT_OPERATIONS, RANDAUGMENT_MAGNITUDE),
    ]
    if jitter:
        steps += [v2.RandomApply([v2.ColorJitter(*JITTER)], p=0.8), v2.RandomGrayscale(p=0.2)]
    return _normalized(steps, to)


def unflipped_strong_view(to: Normalization) -> View:
    """The single view of Query2Label."""
    return strong_view(to, flip=False)


def crop_view(to: Normalization) -> View:
    """A square of random size and place, as in PU-MLC, resized to the input.

    Sizes are those of the published 448 px protocol (512, 448, 384, 320, 256 out of 512), scaled to
    the input size.
    """
    v2 = _transforms()
    full = round(to.size * CROPS[0] / 448)
    crops = [v2.RandomCrop(round(to.size * side / 448)) for side in CROPS]
    bicubic = v2.InterpolationMode.BICUBIC
    steps = [
        v2.Resize((full, full), interpolation=bicubic),
        v2.RandomChoice(crops),
        v2.Resize((to.size, to.size), interpolation=bicubic),
        v2.RandomHorizontalFlip(),
    ]
    return _normalized(steps, to)


def training_view(augment: Augment, to: Normalization) -> View:
    """The single view a stage trains on."""
    views = {
        "flip": weak_view,
        "strong": strong_view,
        "strong_unflipped": unflipped_strong_view,
        "crops": crop_view,
    }
    return views[augment](to)


def cut_out(image: Tensor) -> Tensor:
    """Paint a square of half the side, its center anywhere in the image, in a random color.

    Args:
        image: [3, H, W] of bytes.
    """
    height, width = image.shape[-2:]
    tall, wide = int(height * CUTOUT_SIDE), int(width * CUTOUT_SIDE)
    top = int(torch.randint(height, ())) - tall // 2
    left = int(torch.randint(width, ())) - wide // 2
    painted = image.clone()
    color = torch.randint(256, (3, 1, 1), dtype=torch.uint8)
    painted[:, max(top, 0) : max(top + tall, 0), max(left, 0) : max(left + wide, 0)] = color
    return painted


def _normalized(steps: list[Callable[..., object]], to: Normalization) -> View:
    v2 = _transforms()
    after = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(to.mean, to.std)]
    composed: View = v2.Compose([*steps, *after])
    return composed


def _transforms() -> Any:
    mend_torchvision()
    from torchvision.transforms import v2

    return v2
