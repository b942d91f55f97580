"""Fresh strong views of features that were computed once: distort maps as images are distorted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

DROPPED = 0.1
"""Share of the channels a view loses."""
CUT = 0.5
"""Side of the square cut out of a map, as a share of the map's."""
_MIXERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def distorted(features: Tensor, rows: Tensor, seed: int) -> Tensor:
    """Flip half of the maps, cut a square out of each, and drop a tenth of their channels.

    What happens to a row depends on the seed and its number alone, however rows are batched. Of
    pooled features only channels are dropped.

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
