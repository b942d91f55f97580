"""Expected positive regularization: learn the written tags, and predict k tags an image on average.

    loss = mean over images of sum over classes of -[z=1] log p - [z=0] log(1 - p)
           + lambda ((mean over images of sum over classes of p - k) / K)^2

Cole et al. 2021 (MLSPL), Sec. 5.3 and Eq. 10. The paper has no known negatives, gives no lambda,
and takes k from the full labels. Here known negatives are used, lambda is K, and k is a number you
give or an estimate from the observed labels.

Published code: divides the first term by K and has lambda = 1, which is this loss divided by K; the
preset ``published`` is that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tagfill.losses.estimation import expected_positives
from tagfill.methods._settings import CountSettings, setting
from tagfill.methods.base import MLSPL_K, Info, LossTerms, Method, Needs, Setup, Step, resolve_k

INFO = Info(
    title="Expected positive regularization (EPR)",
    source="Cole et al. 2021 (MLSPL), Sec. 5.3, Eq. 10",
    needs=Needs(expected_positives=True),
)


@dataclass(frozen=True)
class Config(CountSettings):
    weight: float | Literal["classes"] = setting(
        "classes", 'lambda of the regularizer; "classes" is K'
    )
    per_class: bool = setting(
        False, "divide the first term by the number of classes, as the published code does"
    )


PRESETS = {
    "published": Config(weight=1.0, per_class=True),
    **{name: Config(k, weight=1.0, per_class=True) for name, k in MLSPL_K.items()},
}
"""``published``: the published code; ``voc`` to ``cub``: with the paper's k of these data sets."""


class ExpectedPositiveRegularization(Method):
    """Cross-entropy on known entries, and a penalty on the expected count of positives."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.needs = Needs(expected_positives=config.k == "auto")
        self.k = float("nan")

    def start(self, setup: Setup) -> None:
        super().start(setup)
        self.k = resolve_k(self.config.k, setup, "epr")

    def loss(self, step: Step) -> LossTerms:
        return expected_positives(
            step.output.logits,
            step.observed,
            k=self.k,
            weight=None if self.config.weight == "classes" else self.config.weight,
            per_class=self.config.per_class,
        )._asdict()


build = ExpectedPositiveRegularization
