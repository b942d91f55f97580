"""Losses that doubt assumed negatives: Hill, self-paced correction, expected robust loss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tagfill.losses.focusing import generalized_robust, hill, self_paced_correction
from tagfill.methods._settings import Reduction, Settings, reduced, setting
from tagfill.methods.base import LossTerms, Method, NamedMethod, Setup, Step, elementwise


@dataclass(frozen=True)
class HillConfig(Settings):
    lam: float = setting(1.5, "lambda of the unknown term", 1)
    margin: float = setting(1.0, "on the logits of positives")
    gamma: float = setting(2.0, "focus of positives", 0)
    reduction: Reduction = setting("mean", '"mean" or "sum" over the batch')


@dataclass(frozen=True)
class SplcConfig(Settings):
    tau: float = setting(0.6, "unknown entries with a probability above it count as positive", 0, 1)
    start_epoch: int = setting(2, "first epoch, from 1, with correction", 1)
    margin: float = setting(1.0, "on the logits of positives")
    gamma: float = setting(2.0, "focus of positives and negatives", 0)
    margin_on_corrected: bool = setting(True, "corrected entries have the margin too")
    reduction: Reduction = setting("mean", '"mean" or "sum" over the batch')


@dataclass(frozen=True)
class GrConfig(Settings):
    slope_start: float = setting(0.0, "w before training")
    slope_end: float = setting(2.0, "w at its end")
    bias_start: float = setting(-2.0, "b before training")
    bias_end: float = setting(-2.0, "b at its end")
    mean_start: float = setting(0.5, "mu before training")
    mean_end: float = setting(0.8, "mu at its end")
    spread_start: float = setting(2.0, "sigma before training", 1e-6)
    spread_end: float = setting(0.5, "sigma at its end", 1e-6)
    q_positive: float = setting(0.01, "q2; small is near -log p, 1 is robust", 1e-6)
    q_negative: float = setting(1.0, "q3; small is near -log(1 - p), 1 is robust", 1e-6)
    eps: float = setting(0.0, "added to probabilities inside the logarithms")


class SelfPacedCorrection(Method):
    """Focal margin loss; confident predictions of unknown entries count as positives."""

    def __init__(self, config: SplcConfig) -> None:
        self.config, self.terms = config, config.given_to(self_paced_correction)

    def loss(self, step: Step) -> LossTerms:
        tau = self.config.tau if step.epoch >= self.config.start_epoch else None
        terms = reduced(partial(self.terms, tau=tau), self.config.reduction)
        return {"splc": terms(step.output.logits, step.observed).mean()}


class GeneralizedRobust(Method):
    """Expected robust loss; its pseudo-labels and weights follow a schedule."""

    def __init__(self, config: GrConfig) -> None:
        self.config, self.terms = config, config.given_to(generalized_robust)

    def start(self, setup: Setup) -> None:
        super().start(setup)
        self.epochs = setup.epochs

    def loss(self, step: Step) -> LossTerms:
        config = self.config
        before, after = (step.epoch - 1) / self.epochs, step.epoch / self.epochs
        terms = self.terms(
            step.output.logits,
            step.observed,
            slope=_between(config.slope_start, config.slope_end, before),
            bias=_between(config.bias_start, config.bias_end, before),
            mean=_between(config.mean_start, config.mean_end, after),
            spread=_between(config.spread_start, config.spread_end, after),
        )
        return {"gr": terms.mean()}


def _between(start: float, end: float, share: float) -> float:
    return start + (end - start) * share


METHODS = {
    "hill": NamedMethod(
        "Hill loss",
        "Zhang et al. 2021 (Hill and SPLC)",
        HillConfig,
        elementwise("hill", hill),
        presets={"published": HillConfig(reduction="sum")},
        text="""Hill loss: unknown tags with high probability are not pushed down.

    loss = mean over images and classes of
           -[z=1] (1 - q)^gamma log q - [z=0] log(1 - p) + [z=-1] (lam - p) p^2,
           q = sigmoid(logit - margin)

Zhang et al. 2021 (Hill and SPLC). The paper has positive and unknown only; observed negatives
are certain and cost their cross-entropy here.

The published code sums over the batch instead of taking the mean (``reduction``; preset
``published``).""",
    ),
    "splc": NamedMethod(
        "Self-paced loss correction",
        "Zhang et al. 2021 (Hill and SPLC)",
        SplcConfig,
        SelfPacedCorrection,
        presets={
            "published": SplcConfig(margin_on_corrected=False, reduction="sum"),
            "coco_75": SplcConfig(tau=0.65, margin_on_corrected=False, reduction="sum"),
        },
        text="""Self-paced loss correction: unknown tags with high probability count as positive.

    loss = mean over images and classes of
           -[positive] (1 - q)^gamma log q - [else] p^gamma log(1 - p),  q = sigmoid(logit - margin)

Zhang et al. 2021 (Hill and SPLC). Positive are observed positives and, once the first epoch is
over, unknown entries with p > tau at this step; there is no state. Observed negatives, not in
the paper, stay negative.

The published code gives corrected entries no margin and sums over the batch instead of taking the
mean (``margin_on_corrected``, ``reduction``; preset ``published``). It counts epochs from 0 and
starts at 1, which is ``start_epoch`` 2 here. Preset ``coco_75``: the authors' tau where three
quarters of the positives are left.""",
    ),
    "gr": NamedMethod(
        "Generalized robust loss",
        "Chen et al. 2024 (GR loss)",
        GrConfig,
        GeneralizedRobust,
        presets={
            "published": GrConfig(eps=1e-7),
            "voc": GrConfig(eps=1e-7),
            "coco": GrConfig(slope_end=10.0, bias_end=-8.0, eps=1e-7),
            "nus": GrConfig(slope_end=10.0, bias_end=-8.0, eps=1e-7),
            "cub": GrConfig(slope_end=10.0, bias_end=-8.0, q_negative=1.5, eps=1e-7),
        },
        text="""\
Generalized robust loss: the expected loss of unknown tags under a soft pseudo-label.

    loss = mean over images and classes of -[z=1] log p - [z=0] log(1 - p)
           + [z=-1] v (k (1 - p^q2) / q2 + (1 - k) (1 - (1 - p)^q3) / q3)

           k = sigmoid(w p + b), the chance that the tag is there
           v = exp(-(p - mu)^2 / (2 sigma^2)), how much the entry counts

Chen et al. 2024 (GR loss). No gradient flows through k and v. w, b, mu and sigma move linearly with
the epochs, t from 1 to T: w and b by the share (t - 1) / T of their range, mu and sigma by t / T,
as in the published code. The paper has no observed negatives; they cost their cross-entropy here.

The published code adds 1e-7 inside the logarithm of positives (``eps``; preset ``published``). The
presets ``coco``, ``nus`` and ``cub`` have the steeper k of the later AEVLP code (Tran et al.
2025), ``voc`` the published one.""",
    ),
}
