"""When to stop a review: the precision of the remaining suggestions of a tag, after any answer.

The suggestions of a tag are a finite set shown in random order, so the first ones are a sample of
it without repetition. With any prior over how many of the N are right, the ratio of prior to
posterior is a martingale at the true number (Waudby-Smith and Ramdas 2020, "Confidence sequences
for sampling without replacement", Sec. 2). Numbers at which it has reached 1 / error are excluded;
the true one is ever excluded, at any time, with probability at most ``error``. The prior only
decides how soon: half of it is uniform, half expects almost all to be right, as it is for tags
whose rest is worth accepting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, gammaln

from tagfill.arrays import Floats, Mask

ERROR = 0.05
"""Probability that a stated lower bound is ever too high."""
EXPECTED, AT_LEAST = 0.95, 0.8
"""The rest is offered for acceptance when this share is expected to be right, and the bound."""
OPTIMISM = 38.0
"""Of the prior's second half: the mean share of right ones is 38 in 39."""


@dataclass(frozen=True)
class Rest:
    """Share of the unreviewed suggestions that is right.

    Args:
        count: how many there are.
        low, high: bounds that hold at all times with probability 1 - error.
        expected: the mean under a uniform prior.
        sampled: answers the bounds rest on.
    """

    count: int
    low: float = 0.0
    high: float = 1.0
    expected: float = 0.0
    sampled: int = 0

    @property
    def acceptable(self) -> bool:
        """Whether the rest may be accepted unseen."""
        return self.count > 0 and self.expected >= EXPECTED and self.low >= AT_LEAST


def rest_in_order(right: Mask, known: Mask) -> Rest:
    """Bounds on the suggestions that are not known yet, from those that are.

    Only the answers before the first gap of the random order are a fair sample. Answers after it
    were chosen in some other way; they only take themselves out of the rest.

    Args:
        right, known: [N] of all suggestions, in the random order they are shown in.
    """
    sampled = len(known) if known.all() else int(np.argmin(known))
    yes, yes_later = int(right[:sampled].sum()), int(right[sampled:][known[sampled:]].sum())
    no_later = int(known[sampled:].sum()) - yes_later
    return rest_of(len(known), yes, sampled - yes, later=(yes_later, no_later))


def rest_of(
    population: int, right: int, wrong: int, error: float = ERROR, later: tuple[int, int] = (0, 0)
) -> Rest:
    """Bounds on the share of right suggestions among the unreviewed ones.

    Args:
        right, wrong: answers so far, of a random sample.
        error: chance that the bounds are ever wrong.
        later: right and wrong ones among the others that are known too, but not by chance.
    """
    left = population - right - wrong
    count = left - sum(later)
    if count <= 0:
        return Rest(0, sampled=right + wrong)
    extra = np.arange(left + 1, dtype=np.float64)  # right ones among those not sampled
    total = extra + right
    ways = _choose(total, right) + _choose(population - total, wrong)
    likelihood = np.exp(ways - ways.max())
    evidence = float((_prior(total, population) * likelihood).sum())
    possible = (extra >= later[0]) & (extra <= left - later[1])
    kept = possible & (likelihood > error * evidence)  # where prior / posterior < 1 / error
    kept = kept if kept.any() else possible
    share, weight = (extra - later[0]) / count, np.where(possible, likelihood, 0.0)
    expected = float((share * weight).sum() / max(weight.sum(), np.finfo(float).tiny))
    low, high, mean = np.round([share[kept].min(), share[kept].max(), expected], 4).tolist()
    return Rest(count, low, high, mean, right + wrong)


def _prior(total: Floats, population: int) -> Floats:
    """Prior of the number of right ones: half uniform, half beta-binomial near all."""
    high = (
        _choose(np.float64(population), total)
        + betaln(total + OPTIMISM, population - total + 1)
        - betaln(OPTIMISM, 1)
    )
    return np.asarray(0.5 / (population + 1) + 0.5 * np.exp(high))


def _choose(n: Floats | np.float64, k: Floats | int) -> Floats:
    """Logarithm of n over k."""
    return np.asarray(gammaln(n + 1) - gammaln(np.asarray(k) + 1) - gammaln(n - k + 1))
