"""When to stop a review: the precision of the remaining suggestions of a tag, after any answer.

The suggestions of a tag are a finite set, and those shown are a random sample of it without
repetition. With any prior over how many of the N are right, the ratio of prior to posterior is a
martingale at the true number (Waudby-Smith and Ramdas 2020, "Confidence sequences for sampling
without replacement", Sec. 2). Numbers at which it has reached 1 / error are excluded; the true one
is ever excluded, at any time, with probability at most ``error``. The prior only
decides how soon: half of it is uniform, half expects almost all to be right, as it is for tags
whose rest is worth accepting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, gammaln

from tagfill.evaluate.arrays import Floats

ERROR = 0.05
"""Probability that a stated lower bound is ever too high."""
GOAL = 0.9
"""The rest is offered for acceptance when at least this share of it is right."""
OPTIMISM = 38.0
"""Of the prior's second half: the mean share of right ones is 38 in 39."""
FEWEST = 5
"""Fewest answers before anything is offered."""


@dataclass(frozen=True)
class Rest:
    """Share of the unreviewed suggestions that is right.

    Args:
        count: how many there are.
        low, high: bounds that hold at all times with probability 1 - error.
        expected: the mean under a uniform prior.
    """

    count: int
    low: float
    high: float
    expected: float

    def acceptable(self, answers: int) -> bool:
        """Whether the rest may be accepted unseen."""
        return self.count > 0 and answers >= FEWEST and self.low >= GOAL


def rest_of(population: int, right: int, wrong: int, error: float = ERROR) -> Rest:
    """Bounds on the share of right suggestions among the unreviewed ones.

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
    likelihood = np.exp(ways - ways.max())
    evidence = float((_prior(total, population) * likelihood).sum())
    kept = likelihood > error * evidence  # where prior / posterior < 1 / error
    share = extra / left
    expected = float((share * likelihood).sum() / likelihood.sum())
    return Rest(left, float(share[kept].min()), float(share[kept].max()), expected)


def _prior(total: Floats, population: int) -> Floats:
    """Prior of the number of right ones: half uniform, half beta-binomial near all."""
    high = (
        _choose(np.float64(population), total)
        + betaln(total + OPTIMISM, population - total + 1)
        - betaln(OPTIMISM, 1)
    )
    prior: Floats = 0.5 / (population + 1) + 0.5 * np.exp(high)
    return prior


def _choose(n: Floats | np.float64, k: Floats | int) -> Floats:
    """Logarithm of n over k."""
    result: Floats = gammaln(n + 1) - gammaln(np.asarray(k) + 1) - gammaln(n - k + 1)
    return result
