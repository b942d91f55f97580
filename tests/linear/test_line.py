"""The best scale and shift of scores."""

from __future__ import annotations

import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor

from tagfill.linear.line import best_line


def test_the_line_is_the_one_that_scipy_finds() -> None:
    draw = torch.Generator().manual_seed(0)
    scores = torch.randn(400, generator=draw, dtype=torch.float64)
    labels = (torch.rand(400, generator=draw) < torch.sigmoid(3 * scores - 2)).double()

    def cost(line: Tensor) -> tuple[float, Tensor]:
        scaled = line[0].exp() * scores
        logits = scaled + line[1]
        value = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
        slopes = (torch.sigmoid(logits) - labels) / len(labels)
        return float(value), torch.stack([(slopes * scaled).sum(), slopes.sum()])

    found = best_line(cost)
    other = minimize(lambda line: cost(torch.from_numpy(line))[0], [0, 0])
    assert found.cost == pytest.approx(other.fun, abs=1e-7)
    assert (found.log_scale, found.shift) == pytest.approx(tuple(other.x), abs=1e-3)
