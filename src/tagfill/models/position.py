"""Position encoding of grid cells for the query heads."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def sine_position(
    height: int,
    width: int,
    channels: int,
    *,
    temperature: float = 10000.0,
    device: torch.device | None = None,
) -> Tensor:
    """2-D sine code of any grid: half of the channels encode the row, the other half the column.

    With u = 2 pi (row + 1) / height and C = channels / 2, channels 2i and 2i + 1 of the first half
    are sin and cos of u / temperature^(2i / C). Carion et al. 2020, as used by Query2Label.

    Args:
        channels: a multiple of 4.

    Returns:
        [channels, height, width]
    """
    half = channels // 2
    power = torch.arange(0, half, 2, device=device, dtype=torch.float32) / half
    frequency = temperature**-power

    def code(cells: int) -> Tensor:
        steps = torch.arange(1, cells + 1, device=device, dtype=torch.float32)
        angle = (2 * math.pi / cells) * steps * frequency[:, None]
        return torch.stack((angle.sin(), angle.cos()), dim=1).flatten(0, 1)

    rows = code(height)[:, :, None].expand(half, height, width)
    columns = code(width)[:, None, :].expand(half, height, width)
    return torch.cat((rows, columns))
