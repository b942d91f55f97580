"""Structured semantic transfer: pseudo-labels from co-occurring classes and similar images.

    loss = mean over known entries of -[z=1] log p - [z=0] log(1 - p)
           + the same with positive pseudo-labels from within the image
           + the same with positive pseudo-labels from other images
           + w_pairs L_pairs + w_contrast L_contrast

Chen et al. 2022 (SST), as its code has it. Within an image, a network learns for every pair of
classes whether both are observed (L_pairs, an asymmetric loss); an unknown class is positive if its
mean probability of going with the image's positives reaches the margin. Across images, it is
positive if its features have a mean cosine of at least the margin with those of the last
``examples`` images that show the class; L_contrast makes features fit for that. Pseudo-labels begin
after ``start_epoch`` epochs; then the margin falls by 0.025 each epoch, to 0.75 at least. Both
auxiliary losses fade in during the first epoch.

Made for positives and negatives both known in part. Class features come from the ``ssgrl`` head.
Here the pair network sees them through a fixed random projection, where the published one learns
that layer too, and is smaller; the preset ``published`` has its widths.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tagfill.errors import TagfillError
from tagfill.losses.transfer import co_occurrence, known_mean
from tagfill.methods._label_features import LabelFeatureMethod
from tagfill.methods._settings import Settings, setting
from tagfill.methods.base import Info, LossTerms, Needs, ParameterGroup, Setup, Step

MOST_CLASSES = 500
LEAST_MARGIN, MARGIN_STEP = 0.75, 0.025

INFO = Info(
    title="Structured semantic transfer (SST)",
    source="Chen et al. 2022 (SST); PU-MLC (arXiv 2306.16016), Table I",
    needs=Needs(negatives=True, state=True, label_features=True),
)


@dataclass(frozen=True)
class Config(Settings):
    margin: float = setting(
        0.95, "least probability or similarity of a pseudo-label at first", 0, 1
    )
    start_epoch: int = setting(5, "epochs without pseudo-labels", 0)
    pairs_weight: float = setting(10.0, "w_pairs", 0)
    contrast_weight: float = setting(0.05, "w_contrast", 0)
    examples: int = setting(100, "images a class is compared with", 1)
    joint: int = setting(64, "width in which the pair network sees a class", 1)
    hidden: int = setting(64, "units of the pair network", 1)


PRESETS = {"published": Config(joint=512, hidden=1024)}


class SemanticTransfer(LabelFeatureMethod):
    """Learns which classes co-occur, and stores recent features of each."""

    kept = ("weights", "seen")

    def __init__(self, config: Config) -> None:
        super().__init__("sst", config.examples)
        self.config = config

    def start(self, setup: Setup) -> None:
        super().start(setup)
        if setup.classes > MOST_CLASSES:
            raise TagfillError(
                f"sst cannot start: it uses all pairs of {setup.classes:,} classes",
                remedy=f"use sarb, or at most {MOST_CLASSES} classes",
            )
        generator = torch.Generator().manual_seed(setup.seed)
        joint, hidden = self.config.joint, self.config.hidden
        pairs = setup.classes * (setup.classes - 1) // 2
        shapes = {
            "first": (hidden, 2 * joint),
            "second": (hidden, hidden),
            "pairs": (pairs, hidden),
        }
        layers = {}
        for name, shape in shapes.items():
            layers[name] = torch.randn(shape, generator=generator) / shape[1] ** 0.5
            layers[f"{name}_bias"] = torch.zeros(shape[0])
        self.weights = nn.ParameterDict(layers).to(setup.device)

    def loss(self, step: Step) -> LossTerms:
        """The known labels, the two auxiliary losses, and both kinds of pseudo-labels."""
        features, logits = self.features(step), step.output.logits
        pairs = self._pairs(features)
        terms = {
            "known": known_mean(logits, step.observed),
            "contrast": self.contrast(step, self.config.contrast_weight),
        }
        if pairs.numel():
            both = co_occurrence(pairs, step.observed).mean()
            terms["pairs"] = self.faded_in(step) * self.config.pairs_weight * both
        if step.epoch > self.config.start_epoch:
            margin = self.margin_at(step.epoch)
            within = self.within(pairs.detach(), step.observed) >= margin
            across = self.seen.similarity(features.detach()) >= margin
            for name, chosen in (("within", within), ("across", across)):
                labels = torch.where((step.observed == -1) & chosen, 1, step.observed)
                terms[name] = known_mean(logits, labels)
        return terms

    def parameter_groups(self) -> list[ParameterGroup]:
        return [ParameterGroup(list(self.weights.values()), self.setup.learning_rate)]

    def _pairs(self, features: Tensor) -> Tensor:
        """[N, P] logits that both classes of a pair are present."""
        width = features.shape[2]
        generator = torch.Generator().manual_seed(self.setup.seed + 1)
        projection = torch.randn(width, self.config.joint, generator=generator) / width**0.5
        joint = features @ projection.to(features)
        classes = features.shape[1]
        first, second = torch.triu_indices(classes, classes, 1, device=features.device)
        weights = self.weights
        both = torch.cat([joint[:, first], joint[:, second]], dim=2)
        hidden = F.relu(F.linear(both, weights["first"], weights["first_bias"]))
        hidden = F.linear(hidden, weights["second"], weights["second_bias"])
        logits: Tensor = (hidden * weights["pairs"]).sum(dim=2) + weights["pairs_bias"]
        return logits

    def within(self, pairs: Tensor, observed: Tensor) -> Tensor:
        """[N, K] mean probability of going with the image's observed positives."""
        images, classes = observed.shape
        matrix = torch.eye(classes, device=pairs.device).repeat(images, 1, 1)
        first, second = torch.triu_indices(classes, classes, 1, device=pairs.device)
        matrix[:, first, second] = matrix[:, second, first] = torch.sigmoid(pairs)
        positive = (observed == 1).to(matrix)
        total = (matrix @ positive[:, :, None]).squeeze(2)
        return total / positive.sum(dim=1, keepdim=True).clamp(min=1)

    def margin_at(self, epoch: int) -> float:
        """The margin of an epoch."""
        later = epoch - self.config.start_epoch - 1
        lowest = min(LEAST_MARGIN, self.config.margin)
        return max(lowest, self.config.margin - MARGIN_STEP * later)


build = SemanticTransfer
