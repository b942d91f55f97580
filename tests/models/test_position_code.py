from __future__ import annotations

import math

import pytest
import torch

from tagfill.models.query_heads import sine_position


@pytest.mark.parametrize(("height", "width", "channels"), [(3, 5, 8), (1, 1, 4), (14, 14, 20)])
def test_every_value_follows_the_formula(height: int, width: int, channels: int) -> None:
    code = sine_position(height, width, channels)
    assert code.shape == (channels, height, width)
    half = channels // 2
    for channel in range(channels):
        for row in range(height):
            for column in range(width):
                place = (row + 1) / height if channel < half else (column + 1) / width
                index = channel % half
                angle = 2 * math.pi * place / 10000 ** (2 * (index // 2) / half)
                expected = math.cos(angle) if index % 2 else math.sin(angle)
                assert code[channel, row, column].item() == pytest.approx(expected, abs=1e-5)


def test_cells_differ() -> None:
    code = sine_position(7, 9, 64).flatten(1).T
    distance = torch.cdist(code, code) + 10 * torch.eye(63)
    assert distance.min() > 0.01
