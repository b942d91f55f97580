"""Generalized robust loss: the expected robust loss of unknown tags under a soft pseudo-label.

    loss = mean over images and classes of -[z=1] log p - [z=0] log(1 - p)
           + [z=-1] v (k (1 - p^q2) / q2 + (1 - k) (1 - (1 - p)^q3) / q3)

           k = sigmoid(w p + b), the chance that the tag is there
           v = exp(-(p - mu)^2 / (2 sigma^2)), how much the entry counts

Chen et al. 2024 (GR loss). No gradient flows through k and v. w, b, mu and sigma move linearly with
the epochs, t from 1 to T: w and b by the share (t - 1) / T of their range, mu and sigma by t / T,
as in the published code. The paper has no observed negatives; they cost their cross-entropy here.

The published code adds 1e-7 inside the logarithm of positives (``eps``; preset ``published``). The
presets ``coco``, ``nus`` and ``cub`` have the steeper k of the later AEVLP code (Tran et al.
2025), ``voc`` the published one.
"""

from __future__ import annotations

from dataclasses import dataclass

from tagfill.losses.robust import generalized_robust
from tagfill.methods._settings import require_range
from tagfill.methods.base import Info, LossTerms, Method, Setup, Step

INFO = Info(title="Generalized robust loss", source="Chen et al. 2024 (GR loss)")


@dataclass(frozen=True)
class Config:
    """Settings of the generalized robust loss.

    Args:
        slope_start: w before training.
        slope_end: w at its end.
        bias_start: b before training.
        bias_end: b at its end.
        mean_start: mu before training.
        mean_end: mu at its end.
        spread_start: sigma before training.
        spread_end: sigma at its end.
        q_positive: q2; small is near -log p, 1 is robust.
        q_negative: q3; small is near -log(1 - p), 1 is robust.
        eps: added to probabilities inside the logarithms.
    """

    slope_start: float = 0.0
    slope_end: float = 2.0
    bias_start: float = -2.0
    bias_end: float = -2.0
    mean_start: float = 0.5
    mean_end: float = 0.8
    spread_start: float = 2.0
    spread_end: float = 0.5
    q_positive: float = 0.01
    q_negative: float = 1.0
    eps: float = 0.0

    def __post_init__(self) -> None:
        for name in ("spread_start", "spread_end", "q_positive", "q_negative"):
            require_range(name, getattr(self, name), 1e-6)


PRESETS = {
    "published": Config(eps=1e-7),
    "voc": Config(eps=1e-7),
    "coco": Config(slope_end=10.0, bias_end=-8.0, eps=1e-7),
    "nus": Config(slope_end=10.0, bias_end=-8.0, eps=1e-7),
    "cub": Config(slope_end=10.0, bias_end=-8.0, q_negative=1.5, eps=1e-7),
}


class GeneralizedRobust(Method):
    """Expected robust loss; its pseudo-labels and weights follow a schedule."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def start(self, setup: Setup) -> None:
        super().start(setup)
        self.epochs = setup.epochs

    def loss(self, step: Step) -> LossTerms:
        config = self.config
        before, after = (step.epoch - 1) / self.epochs, step.epoch / self.epochs
        terms = generalized_robust(
            step.output.logits,
            step.observed,
            slope=_between(config.slope_start, config.slope_end, before),
            bias=_between(config.bias_start, config.bias_end, before),
            mean=_between(config.mean_start, config.mean_end, after),
            spread=_between(config.spread_start, config.spread_end, after),
            q_positive=config.q_positive,
            q_negative=config.q_negative,
            eps=config.eps,
        )
        return {"gr": terms.mean()}


def _between(start: float, end: float, share: float) -> float:
    return start + (end - start) * share


def build(config: Config) -> Method:
    return GeneralizedRobust(config)
