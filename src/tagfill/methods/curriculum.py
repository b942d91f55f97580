"""Curriculum labeling: learn from known labels, then also from confident predictions.

    loss = mean over images and classes of w(r) (-[l=1] log p - [l=0] log(1 - p)),
           w(r) = -4.45 r + 5.45, r the share of the image's entries that have a label l

Durand et al. 2019, "Learning a Deep ConvNet for Multi-label Classification with Partial Labels",
Eq. 2-3 and its curriculum strategies; the row "CL" of PU-MLC's Table I. Labels l are the observed
ones and, from the end of epoch ``warmup`` on, pseudo-labels of unknown entries, computed again
after every epoch from the scores of all training images. By ``strategy``:

- "threshold": 1 where the logit is at least theta, 0 where it is at most -theta;
- "proportion": the ``share`` of all unknown entries with the largest |logit|, by its sign;
- "positives": 1 where the logit is at least theta, no negatives.

The paper's ensemble and Bayesian strategies are not implemented. Ours: one warm-up epoch, theta 2
(a probability of 0.88) and a share of 0.8, the decision over the whole training set instead of by
mini-batch, and r that counts pseudo-labels. Needs known negatives: without them the network would
first learn to call everything positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from tagfill.losses.assume import durand_weight, partial_cross_entropy
from tagfill.methods._settings import Settings, setting
from tagfill.methods.base import Info, LossTerms, Method, Needs, Setup, Step, filled_in

Strategy = Literal["threshold", "proportion", "positives"]

INFO = Info(
    title="Curriculum labeling with partial labels (CL)",
    source="Durand et al. 2019, Eq. 2-3, curriculum strategies; PU-MLC, Table I",
    needs=Needs(negatives=True, state=True, epoch_scores=True),
)


@dataclass(frozen=True)
class Config(Settings):
    strategy: Strategy = setting("threshold", "which unknown entries get a pseudo-label")
    theta: float = setting(2.0, "least |logit| of a pseudo-label", 0)
    share: float = setting(0.8, 'of the unknown entries, for the strategy "proportion"', 0, 1)
    warmup: int = setting(1, "epochs before the first pseudo-labels", 1)


class CurriculumLabeling(Method):
    """Remembers the last scores of all images and the labels derived from them."""

    kept = ("labels", "scores")

    def __init__(self, config: Config) -> None:
        self.config = config

    def start(self, setup: Setup) -> None:
        super().start(setup)
        self.observed = setup.observed.to(setup.device)
        self.labels = self.observed.clone()
        self.scores = torch.full(self.observed.shape, 0.5, device=setup.device)

    def loss(self, step: Step) -> LossTerms:
        labels = torch.where(step.observed == -1, self.labels[step.index], step.observed)
        terms = partial_cross_entropy(step.output.logits, labels, durand_weight(labels))
        return {"curriculum": terms.mean()}

    def after_epoch(self, epoch: int, scores: Tensor | None) -> None:
        assert scores is not None
        self.scores = scores.to(self.scores)
        if epoch >= self.config.warmup:
            self.labels = pseudo_labeled(
                self.observed,
                torch.logit(self.scores, eps=1e-7),
                strategy=self.config.strategy,
                theta=self.config.theta,
                share=self.config.share,
            )

    def estimates(self) -> Tensor:
        """The last scores; 0.5 before the first."""
        return filled_in(self.observed, self.scores)

    def pseudo_labels(self) -> Tensor:
        return torch.where(self.observed == -1, self.labels, -1)


def pseudo_labeled(
    observed: Tensor, logits: Tensor, *, strategy: Strategy, theta: float, share: float
) -> Tensor:
    """[N, K] observed labels, and pseudo-labels of the unknown entries the strategy selects.

    Args:
        observed: [N, K] labels 1, 0, -1.
        theta: least |logit| of a pseudo-label.
        share: of the unknown entries.
    """
    unknown = observed == -1
    if strategy == "proportion":
        confident = _most_confident(logits.abs(), unknown, share)
    else:
        confident = (logits >= theta) if strategy == "positives" else (logits.abs() >= theta)
    return torch.where(unknown & confident, (logits > 0).to(observed.dtype), observed)


def _most_confident(confidence: Tensor, candidates: Tensor, share: float) -> Tensor:
    """The share of candidates with the highest confidence, ties in order."""
    entries = torch.nonzero(candidates.flatten()).squeeze(1)
    ranked = torch.argsort(confidence.flatten()[entries], descending=True, stable=True)
    chosen = torch.zeros(candidates.numel(), dtype=torch.bool, device=candidates.device)
    chosen[entries[ranked[: round(share * len(entries))]]] = True
    return chosen.view(candidates.shape)


build = CurriculumLabeling
