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


def strong_view(to: Normalization) -> View:
    """RandAugment (two operations of magnitude 9), then Cutout of half the side, after a flip."""
    v2 = _transforms()
    steps = [
        v2.Resize((to.size, to.size)),
        v2.RandomHorizontalFlip(),
        v2.RandAugment(RANDAUGMENT_OPERATIONS, RANDAUGMENT_MAGNITUDE),
    ]
    return _normalized(steps, to, cutout=True)


def crop_view(to: Normalization) -> View:
    """A square of random size and place, as PU-MLC and its forebears crop, squashed to the input.

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
        v2.Resize((to.size, to.size)),
        v2.RandomHorizontalFlip(),
    ]
    return _normalized(steps, to)


def training_view(augment: Augment, to: Normalization) -> View:
    """The single view a stage trains on."""
    return {"flip": weak_view, "strong": strong_view, "crops": crop_view}[augment](to)


def cut_out(image: Tensor) -> Tensor:
    """Paint a square of half the side, at a random place, in a random color.

    Args:
        image: [3, H, W] in 0..1.
    """
    height, width = image.shape[-2:]
    tall, wide = int(height * CUTOUT_SIDE), int(width * CUTOUT_SIDE)
    top = int(torch.randint(height - tall + 1, ()))
    left = int(torch.randint(width - wide + 1, ()))
    painted = image.clone()
    painted[:, top : top + tall, left : left + wide] = torch.rand(3, 1, 1)
    return painted


def _normalized(
    steps: list[Callable[..., object]], to: Normalization, cutout: bool = False
) -> View:
    v2 = _transforms()
    after = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    if cutout:
        after.append(v2.Lambda(cut_out))
    composed: View = v2.Compose([*steps, *after, v2.Normalize(to.mean, to.std)])
    return composed


def _transforms() -> Any:
    mend_torchvision()
    from torchvision.transforms import v2

    return v2
