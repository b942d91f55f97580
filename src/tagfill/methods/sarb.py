"""Semantic-aware representation blending: blend features of known tags into unknown ones.

    loss = mean over known entries of -[z=1] log p - [z=0] log(1 - p)
           + the same of features blended with another image's, soft labels 1 - alpha there
           + the same of features blended with a prototype, a soft label 1 - beta there
           + w L_contrast

Pu et al. 2022 (SARB), as its code has it. f_k, the features of class k, become
alpha f_k + (1 - alpha) f'_k where k is unknown in the image and observed positive in its partner
(the batch in reverse order); of each image one unknown class becomes beta f_k + (1 - beta)
c_k with c_k one of the class's ``prototypes`` cluster centers. Blending begins after
``start_epoch`` epochs; prototypes are computed every ``interval`` epochs. alpha and beta are
learned, from 0.5 on, within 0 and 1. L_contrast is that of ``sst`` and fades in during the first
epoch.

Made for positives and negatives both known in part. Class features come from the ``ssgrl`` head and
are classified again once blended. Here the centers are of the last ``examples`` positives of a
class; the code passes over all images again. A class without positives yet is not blended with a
prototype.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tagfill.losses.assume import sample_unknown
from tagfill.losses.transfer import blended_mean, known_mean
from tagfill.methods._label_features import LabelFeatureMethod
from tagfill.methods._settings import Settings, setting
from tagfill.methods.base import Info, LossTerms, Needs, ParameterGroup, Setup, Step

LLOYD_STEPS = 10
"""Of the k-means that makes prototypes."""

INFO = Info(
    title="Semantic-aware representation blending (SARB)",
    source="Pu et al. 2022 (SARB); PU-MLC (arXiv 2306.16016), Table I",
    needs=Needs(negatives=True, state=True, label_features=True),
)


@dataclass(frozen=True)
class Config(Settings):
    start_epoch: int = setting(5, "epochs without blending", 0)
    prototypes: int = setting(10, "cluster centers of a class", 1)
    interval: int = setting(5, "epochs after which they are computed again", 1)
    contrast_weight: float = setting(0.05, "w", 0)
    examples: int = setting(100, "positives per class to compute them from", 1)


class Blending(LabelFeatureMethod):
    """Has prototypes of every class, and learns the blending weights."""

    kept = ("alpha", "beta", "prototypes", "seen")

    def __init__(self, config: Config) -> None:
        super().__init__("sarb", config.examples)
        self.config = config

    def start(self, setup: Setup) -> None:
        super().start(setup)
        self.alpha = nn.Parameter(torch.tensor(0.5, device=setup.device))
        self.beta = nn.Parameter(torch.tensor(0.5, device=setup.device))
        self.prototypes = torch.zeros(0, device=setup.device)

    def loss(self, step: Step) -> LossTerms:
        """The known labels, the contrast, and both kinds of blends."""
        features = self.features(step)
        terms = {
            "known": known_mean(step.output.logits, step.observed),
            "contrast": self.contrast(step, self.config.contrast_weight),
        }
        if step.epoch > self.config.start_epoch:
            other = features.flip(0)
            blended = (step.observed == -1) & (step.observed.flip(0) == 1)
            terms["instance"] = self._blended(step, other, blended, self.alpha)
            if self.prototypes.numel():
                centers, chosen = self._centers(step)
                terms["prototype"] = self._blended(step, centers, chosen, self.beta)
        return terms

    def after_step(self, step: Step) -> None:
        """Keep the shares within 0 and 1, and the features of observed positives."""
        with torch.no_grad():
            self.alpha.clamp_(0, 1)
            self.beta.clamp_(0, 1)
        super().after_step(step)

    def after_epoch(self, epoch: int, scores: Tensor | None) -> None:
        """Make prototypes where the next epoch begins with new ones."""
        later = epoch - self.config.start_epoch
        if later >= 0 and later % self.config.interval == 0 and self.seen.features.numel():
            count = self.config.prototypes
            empty = torch.full((count, self.seen.features.shape[2]), torch.nan)
            self.prototypes = torch.stack(
                [
                    centers(self.seen.of(k), count) if self.seen.filled[k] else empty.to(self.alpha)
                    for k in range(self.setup.classes)
                ]
            )

    def parameter_groups(self) -> list[ParameterGroup]:
        return [ParameterGroup([self.alpha, self.beta], self.setup.learning_rate)]

    def _blended(self, step: Step, other: Tensor, blended: Tensor, share: Tensor) -> Tensor:
        assert step.output.features is not None
        assert step.classify is not None
        features = step.output.features
        mixed = share * features + (1 - share) * other
        logits = step.classify(torch.where(blended[:, :, None], mixed, features))
        return blended_mean(logits, step.observed, 1 - share, blended)

    def _centers(self, step: Step) -> tuple[Tensor, Tensor]:
        """[B, K, D] one prototype of every class, and [B, K] one unknown class of each image."""
        number = int(torch.randint(self.config.prototypes, (), generator=step.generator))
        chosen = self.prototypes[:, number]
        usable = (step.observed == -1) & ~chosen.isnan().any(dim=1)
        one = sample_unknown(torch.where(usable, -1, 0), step.generator)
        return chosen.nan_to_num().expand(len(usable), -1, -1), one


def centers(points: Tensor, count: int) -> Tensor:
    """[count, D] cluster centers of [n, D] points by Lloyd's k-means, from evenly spaced points.

    Where there are fewer points than centers, some points are centers more than once.
    """
    start = torch.linspace(0, len(points) - 1, count, device=points.device).round().long()
    middle = points[start].clone()
    for _ in range(LLOYD_STEPS):
        nearest = torch.cdist(points, middle).argmin(dim=1)
        counts = torch.bincount(nearest, minlength=count)
        sums = torch.zeros_like(middle).index_add_(0, nearest, points)
        filled = counts > 0
        middle[filled] = sums[filled] / counts[filled, None]
    return middle


build = Blending
