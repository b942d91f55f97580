"""Pairwise ranking: every written tag should score above every other tag of its image.

    loss = mean over images of sum over i with z_i=1, j with z_j!=1 of max(0, 1 - p_i + p_j)

Cole et al. 2021 (MLSPL), supplement A ("PR"), where 0 stands for an unknown label counted
as negative. Computed without forming pairs, see ``tagfill.losses.assume``.

Published code: also divides by the number of classes; the preset ``published`` does so. It loops
over pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

from tagfill.losses.assume import pairwise_ranking
from tagfill.methods._settings import Settings, setting
from tagfill.methods.base import Info, LossTerms, Method, Step

INFO = Info(title="Pairwise ranking (PR)", source="Cole et al. 2021 (MLSPL), supplement A")


@dataclass(frozen=True)
class Config(Settings):
    per_class: bool = setting(False, "divide by the number of classes, as the published code does")


PRESETS = {"published": Config(per_class=True)}


class PairwiseRanking(Method):
    """Sums over pairs, averages over images."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def loss(self, step: Step) -> LossTerms:
        pairs = pairwise_ranking(step.output.logits, step.observed)
        return {"pr": pairs.mean() if self.config.per_class else pairs.sum(1).mean()}


build = PairwiseRanking
