"""Ignore unknown: cross-entropy on known entries only.

    loss = mean over images and classes of -[z=1] log p - [z=0] log(1 - p)

Cole et al. 2021 (MLSPL), Eq. 6. The mean is over all entries, known or not, as in the paper. Needs
known positives and known negatives: with positives alone, predicting every tag is optimal. The
published code computes the same but stops at a batch that lacks either kind; here only the whole
training set needs both.
"""

from __future__ import annotations

from dataclasses import dataclass

from tagfill.losses.assume import ignore_unknown
from tagfill.methods.base import ElementwiseMethod, Info, Method, Needs

INFO = Info(
    title="Ignore unknown (IU)",
    source="Cole et al. 2021 (MLSPL), Eq. 6",
    needs=Needs(negatives=True),
)


@dataclass(frozen=True)
class Config:
    """Nothing to set."""


def build(config: Config) -> Method:
    return ElementwiseMethod("iu", ignore_unknown)
