"""Augmented views: of images (weak, strong, the crops of PU-MLC), and of cached features."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch import Tensor

from tagfill.compat import mend_torchvision
from tagfill.models.preprocess import Preprocess
from tagfill.train.config import Augment

View = Callable[[Image.Image], Tensor]

RANDAUGMENT_OPERATIONS, RANDAUGMENT_MAGNITUDE = 2, 9
CUTOUT_SIDE = 0.5
JITTER = (0.4, 0.4, 0.4, 0.1)
"""Of brightness, contrast, saturation and hue, in LAC's published code."""
VIEWS_VERSION = 2
"""Increased when the strong view changes, so that older cached features are not used."""
CROPS = (512, 448, 384, 320, 256)
DROPPED = 0.1
"""Share of the channels a view loses."""
CUT = 0.5
"""Side of the square cut out of a map, as a share of the map's."""
_MIXERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def weak_view(to: Preprocess) -> View:
    """Squash to the input size and flip at random."""
    v2 = _transforms()
    return _normalized([v2.Resize((to.size, to.size)), v2.RandomHorizontalFlip()], to)


def strong_view(to: Preprocess, jitter: bool = False, *, flip: bool = True) -> View:
    """A flip, Cutout of half the side, then RandAugment (two operations of magnitude 9).

    Args:
        jitter: also ColorJitter and RandomGrayscale, as in the published code of LAC (not in the
            paper).
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


def crop_view(to: Preprocess) -> View:
    """A square crop of random size and position, as in PU-MLC, resized to the input.

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


def training_view(augment: Augment, to: Preprocess) -> View:
    """The single view a stage trains on."""
    views: dict[Augment, Callable[[Preprocess], View]] = {
        "flip": weak_view,
        "strong": strong_view,
        "strong_unflipped": partial(strong_view, flip=False),
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


def _normalized(steps: list[Callable[..., object]], to: Preprocess) -> View:
    v2 = _transforms()
    after = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(to.mean, to.std)]
    view: View = v2.Compose([*steps, *after])
    return view


def _transforms() -> Any:
    mend_torchvision()
    from torchvision.transforms import v2

    return v2


def distorted(features: Tensor, rows: Tensor, seed: int) -> Tensor:
    """Strong views of cached features: flip half of the maps, cut out squares, drop channels.

    The view of a row depends only on the seed and the row, not on the batch. Of pooled features
    only channels are dropped.

    Args:
        features: [B, D, H, W] maps or [B, D] pooled features.
        rows: [B] their numbers in the training set.
        seed: another one for every epoch.
    """
    channels = features.shape[1]
    draws = _uniform(rows, 3 + channels, seed)
    kept = (draws[:, 3:] >= DROPPED).to(features) / (1 - DROPPED)
    if features.ndim == 2:
        return features * kept
    flipped = torch.where(draws[:, 0, None, None, None] < 0.5, features.flip(3), features)
    visible = ~_square(draws[:, 1], draws[:, 2], features.shape[2], features.shape[3])
    return flipped * kept[:, :, None, None] * visible[:, None].to(features)


def _square(down: Tensor, across: Tensor, height: int, width: int) -> Tensor:
    """[B, H, W] booleans of a square with its center anywhere in the map."""
    rows = (torch.arange(height) + 0.5) / height
    columns = (torch.arange(width) + 0.5) / width
    tall = (rows - down[:, None]).abs() < CUT / 2
    wide = (columns - across[:, None]).abs() < CUT / 2
    return tall[:, :, None] & wide[:, None, :]


def _uniform(rows: Tensor, count: int, seed: int) -> Tensor:
    """[B, count] numbers in 0..1 that depend on the row, the column and the seed (splitmix64)."""
    step, first, second = (np.uint64(mixer) for mixer in _MIXERS)
    row = rows.numpy().astype(np.uint64)[:, None]
    column = np.arange(1, count + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        state: npt.NDArray[np.uint64] = (row * second + np.uint64(seed)) * first + column * step
        state = (state ^ (state >> np.uint64(30))) * first
        state = (state ^ (state >> np.uint64(27))) * second
    mixed = state ^ (state >> np.uint64(31))
    return torch.from_numpy((mixed >> np.uint64(40)).astype(np.float32) / np.float32(2**24))
