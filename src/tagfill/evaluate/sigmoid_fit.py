"""Fit p = sigmoid(slope x + bias) to probabilities of labels, by maximum likelihood."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from tagfill.evaluate.arrays import Floats, sigmoid

_TINY = 1e-12
_STEEPEST = 8.0
"""Bound on |log| of the slope over standardized scores."""
_FARTHEST = 40.0
"""Bound on the bias."""


class Line(NamedTuple):
    """slope x + bias; the slope is positive, so that the order of scores is kept."""

    slope: float
    bias: float

    def __call__(self, scores: npt.ArrayLike) -> Floats:
        """Logits of scores."""
        return np.asarray(self.slope * np.asarray(scores, dtype=np.float64) + self.bias)


class Entries(NamedTuple):
    """Entries as vectors: scores, and how probable it is that each is positive."""

    scores: Floats
    targets: Floats

    def cost(self, line: Line) -> tuple[float, float, float]:
        """Cross-entropy, and its slopes along slope and bias."""
        logits = line(self.scores)
        cost = _softplus(logits) - self.targets * logits
        pull = sigmoid(logits) - self.targets
        return float(cost.sum()), float(pull @ self.scores), float(pull.sum())

    def select(self, chosen: slice) -> Entries:
        """Some of the entries."""
        return Entries(self.scores[chosen], self.targets[chosen])


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread: its pool takes longer than problems of two unknowns."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(limits=1):
        yield


def fit_line(entries: Entries, *, start: Line | None = None, fixed_bias: bool = False) -> Line:
    """The line of greatest likelihood.

    Args:
        start: where to begin; slope 1 and bias 0 by default.
        fixed_bias: keep the bias at 0 (temperature scaling).
    """
    center, spread = (0.0, 1.0) if fixed_bias else _standard(entries.scores)
    scaled = entries._replace(scores=(entries.scores - center) / spread)
    first = start or Line(1.0, 0.0)

    def cost(parameters: Floats) -> tuple[float, list[float]]:
        line = Line(float(np.exp(parameters[0])), 0.0 if fixed_bias else float(parameters[1]))
        value, by_slope, by_bias = scaled.cost(line)
        count = len(entries.scores)
        gradient = [by_slope * line.slope / count, by_bias / count]
        return value / count, gradient[: len(parameters)]

    begin = [np.log(first.slope * spread), first.bias + first.slope * center]
    fitted = _minimum(cost, begin[:1] if fixed_bias else begin)
    slope = float(np.exp(fitted[0])) / spread
    return Line(slope, 0.0 if fixed_bias else float(fitted[1]) - slope * center)


def fit_near(entries: Entries, near: Line, strength: float) -> Line:
    """The line of greatest posterior under a prior around another one.

    logit = exp(u) * near(x) + v with u and v normal with mean 0 and variance 1 / strength.
    """
    logits = near(entries.scores)
    scaled = entries._replace(scores=logits)

    def cost(parameters: Floats) -> tuple[float, list[float]]:
        turn, shift = (float(parameter) for parameter in parameters)
        value, by_slope, by_bias = scaled.cost(Line(float(np.exp(turn)), shift))
        return (
            value + strength * (turn**2 + shift**2) / 2,
            [by_slope * float(np.exp(turn)) + strength * turn, by_bias + strength * shift],
        )

    turn, shift = _minimum(cost, [0.0, 0.0])
    factor = float(np.exp(turn))
    return Line(factor * near.slope, factor * near.bias + float(shift))


def _minimum(cost: Callable[[Floats], tuple[float, list[float]]], begin: Sequence[float]) -> Floats:
    bounds = [(-_STEEPEST, _STEEPEST), *([(-_FARTHEST, _FARTHEST)] * (len(begin) - 1))]
    first = [float(np.clip(at, *bound)) for at, bound in zip(begin, bounds, strict=True)]
    result = minimize(cost, first, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(result.x, dtype=np.float64)


def _softplus(values: Floats) -> Floats:
    return np.asarray(np.maximum(values, 0) + np.log1p(np.exp(-np.abs(values))))


def _standard(scores: Floats) -> tuple[float, float]:
    spread = float(scores.std()) if len(scores) else 0.0
    return (float(scores.mean()), spread) if spread > _TINY else (0.0, 1.0)
