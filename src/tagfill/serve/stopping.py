"""When enough was looked at: how right the rest of a tag's suggestions is, after any answer.

The suggestions of a tag are a finite set, and those shown are a random sample of it without
repetition. With a uniform prior over how many of the N are right, the ratio of prior to posterior
is a martingale at the true number (Waudby-Smith and Ramdas 2020, "Confidence sequences for
sampling without replacement", Sec. 2). Numbers at which it has reached 1 / error are excluded; the
true one is ever excluded, at whatever moment one looks, with probability at most ``error``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

ERROR = 0.05
"""Chance that a stated lower bound is ever too high."""
GOAL = 0.9
"""The rest is offered for acceptance when at least this share of it is right."""
FEWEST = 5
"""Answers below which nothing is offered."""


@dataclass(frozen=True)
class Rest:
    """How many of the suggestions not looked at are right, as a share.

    Args:
        count: how many there are.
        low, high: bounds that hold at all times with probability 1 - error.
        expected: the mean of the posterior.
    """

    count: int
    low: float
    high: float
    expected: float

    def acceptable(self, answers: int, goal: float = GOAL) -> bool:
        """Whether the rest may be accepted unseen."""
        return self.count > 0 and answers >= FEWEST and self.low >= goal


def rest_of(population: int, right: int, wrong: int, error: float = ERROR) -> Rest:
    """Bounds on the share of right suggestions among those not looked at.

    Args:
        population: all suggestions of the tag.
        right, wrong: answers so far.
        error: chance that the bounds are ever wrong.
    """
    left = population - right - wrong
    if left <= 0:
        return Rest(0, 0.0, 1.0, 0.0)
    extra = np.arange(left + 1, dtype=np.float64)  # right ones among the rest
    total = extra + right
    ways = _choose(total, right) + _choose(population - total, wrong)
    posterior = np.exp(ways - ways.max())
    posterior /= posterior.sum()
    kept = posterior * (population + 1) > error  # prior / posterior < 1 / error
    share = extra / left
    return Rest(
        left, float(share[kept].min()), float(share[kept].max()), float((share * posterior).sum())
    )


def _choose(n: np.ndarray, k: int) -> np.ndarray:
    """Logarithm of n over k."""
    result: np.ndarray = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return result
