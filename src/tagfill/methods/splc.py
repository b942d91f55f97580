"""Self-paced loss correction: unknown tags with high probability count as positive.

    loss = mean over images and classes of
           -[positive] (1 - q)^gamma log q - [else] p^gamma log(1 - p),  q = sigmoid(logit - margin)

Zhang et al. 2021 (Hill and SPLC). Positive are observed positives and, once the first epoch is
over, unknown entries with p > tau at this step; there is no state. Observed negatives, not in
the paper, stay negative.

The published code gives corrected entries no margin and sums over the batch instead of taking the
mean (``margin_on_corrected``, ``reduction``; preset ``published``). It counts epochs from 0 and
starts at 1, which is ``start_epoch`` 2 here. Preset ``coco_75``: the authors' tau where three
quarters of the positives are left.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from tagfill.losses.robust import self_paced_correction
from tagfill.methods._settings import Reduction, reduced, require_range
from tagfill.methods.base import Info, LossTerms, Method, Step

INFO = Info(title="Self-paced loss correction", source="Zhang et al. 2021 (Hill and SPLC)")


@dataclass(frozen=True)
class Config:
    """Settings of self-paced loss correction.

    Args:
        tau: unknown entries with a probability above it count as positive.
        start_epoch: first epoch, from 1, with correction.
        margin: on the logits of positives.
        gamma: focus of positives and negatives.
        margin_on_corrected: corrected entries have the margin too.
        reduction: "mean" or "sum" over the batch.
    """

    tau: float = 0.6
    start_epoch: int = 2
    margin: float = 1.0
    gamma: float = 2.0
    margin_on_corrected: bool = True
    reduction: Reduction = "mean"

    def __post_init__(self) -> None:
        require_range("tau", self.tau, 0, 1)
        require_range("start_epoch", self.start_epoch, 1)
        require_range("gamma", self.gamma, 0)


PRESETS = {
    "published": Config(margin_on_corrected=False, reduction="sum"),
    "coco_75": Config(tau=0.65, margin_on_corrected=False, reduction="sum"),
}


class SelfPacedCorrection(Method):
    """Focal margin loss; confident predictions of unknown entries count as positives."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def loss(self, step: Step) -> LossTerms:
        correcting = step.epoch >= self.config.start_epoch

        def corrected(logits: Tensor, observed: Tensor) -> Tensor:
            return self_paced_correction(
                logits,
                observed,
                tau=self.config.tau if correcting else None,
                margin=self.config.margin,
                gamma=self.config.gamma,
                margin_on_corrected=self.config.margin_on_corrected,
            )

        terms = reduced(corrected, self.config.reduction)(step.output.logits, step.observed)
        return {"splc": terms.mean()}


def build(config: Config) -> Method:
    return SelfPacedCorrection(config)
