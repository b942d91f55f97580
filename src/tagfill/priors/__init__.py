"""How many tags an image has, and how common each is, from labels that do not say so.

>>> import numpy as np
>>> known = np.array([[1, 0, -1], [0, 0, -1], [1, -1, 0], [-1, 1, 1]])
>>> round(estimate_prior(known).expected_positives, 3)
1.5
"""

from __future__ import annotations

from tagfill.priors.estimate import PriorEstimate, estimate_prior
from tagfill.priors.regime import complete_rows, regime_of
from tagfill.priors.writer import Written
from tagfill.priors.written import Presence, how_written, presence, presence_by_features

__all__ = [
    "Presence",
    "PriorEstimate",
    "Written",
    "complete_rows",
    "estimate_prior",
    "how_written",
    "presence",
    "presence_by_features",
    "regime_of",
]
