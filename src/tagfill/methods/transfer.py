"""Transfer between images and classes by label-wise features: SST and SARB."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tagfill.errors import TagfillError
from tagfill.losses.assume import sample_unknown
from tagfill.losses.transfer import blended_mean, co_occurrence, known_mean, label_contrast
from tagfill.methods._settings import Settings, setting
from tagfill.methods._state import Stateful
from tagfill.methods.base import (
    LossTerms,
    Method,
    NamedMethod,
    Needs,
    ParameterGroup,
    Setup,
    Step,
)

MOST_CLASSES = 500
"""For all pairs of which SST has weights."""
LEAST_MARGIN, MARGIN_STEP = 0.75, 0.025
LLOYD_STEPS = 10
"""Of the k-means that makes prototypes."""


class Examples(Stateful):
    """Features of the last images that showed each class.

    Args:
        count: number of images per class.
    """

    kept = ("features", "filled")

    def __init__(self, setup: Setup, count: int) -> None:
        self.classes, self.count, self.device = setup.classes, count, setup.device
        self.features = torch.zeros(0, device=setup.device)
        self.filled = torch.zeros(setup.classes, dtype=torch.int64, device=setup.device)

    def add(self, features: Tensor, observed: Tensor) -> None:
        """Add the batch's observed positives and drop the oldest."""
        if not self.features.numel():
            shape = (self.classes, self.count, features.shape[2])
            self.features = torch.zeros(shape, device=self.device)
        features = features.detach()
        for k in torch.nonzero((observed == 1).any(dim=0)).flatten().tolist():
            new = features[observed[:, k] == 1, k]
            self.features[k] = torch.cat([new.to(self.features), self.features[k]])[: self.count]
            self.filled[k] = (self.filled[k] + len(new)).clamp(max=self.count)

    def of(self, k: int) -> Tensor:
        """[n, D] stored features of a class."""
        return self.features[k, : int(self.filled[k])]

    def similarity(self, features: Tensor) -> Tensor:
        """[B, K] mean cosine with the examples of each class; 0 where there are none."""
        if not self.features.numel():
            return torch.zeros(features.shape[:2], device=features.device)
        means = F.normalize(self.features, dim=2).sum(dim=1) / self.filled.clamp(min=1)[:, None]
        return (F.normalize(features, dim=2) * means.to(features)).sum(dim=2)


class LabelFeatureMethod(Method):
    """Base of methods that store features of the last observed positives.

    Args:
        examples: number of images per class.
    """

    def __init__(self, name: str, examples: int) -> None:
        self.name, self.examples = name, examples

    def start(self, setup: Setup) -> None:
        super().start(setup)
        self.setup = setup
        self.seen = Examples(setup, self.examples)

    def after_step(self, step: Step) -> None:
        """Store the features of observed positives."""
        self.seen.add(self.features(step), step.observed)

    def features(self, step: Step) -> Tensor:
        """[B, K, D] of the batch."""
        if step.output.features is None or step.classify is None:
            raise TagfillError(
                f"{self.name} needs label-wise features, which this head does not give",
                remedy="use the `ssgrl` head",
            )
        return step.output.features

    def contrast(self, step: Step, weight: float) -> Tensor:
        """The weighted contrast of the features, faded in during the first epoch."""
        contrast = label_contrast(self.features(step), step.observed, step.generator)
        return self.faded_in(step) * weight * contrast

    def faded_in(self, step: Step) -> float:
        """0 at the first step, 1 from the second epoch on."""
        return 1.0 if step.epoch > 1 else step.step / max(self.setup.steps_per_epoch, 1)


@dataclass(frozen=True)
class SstConfig(Settings):
    margin: float = setting(
        0.95, "least probability or similarity of a pseudo-label at first", 0, 1
    )
    start_epoch: int = setting(5, "epochs without pseudo-labels", 0)
    pairs_weight: float = setting(10.0, "w_pairs", 0)
    contrast_weight: float = setting(0.05, "w_contrast", 0)
    examples: int = setting(100, "images a class is compared with", 1)
    joint: int = setting(64, "width in which the pair network sees a class", 1)
    hidden: int = setting(64, "units of the pair network", 1)


class SemanticTransfer(LabelFeatureMethod):
    """Learns which classes co-occur, and stores recent features of each."""

    kept = ("weights", "seen")

    def __init__(self, config: SstConfig) -> None:
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
        later = epoch - self.config.start_epoch - 1
        lowest = min(LEAST_MARGIN, self.config.margin)
        return max(lowest, self.config.margin - MARGIN_STEP * later)


@dataclass(frozen=True)
class SarbConfig(Settings):
    start_epoch: int = setting(5, "epochs without blending", 0)
    prototypes: int = setting(10, "cluster centers of a class", 1)
    interval: int = setting(5, "epochs after which they are computed again", 1)
    contrast_weight: float = setting(0.05, "w", 0)
    examples: int = setting(100, "positives per class to compute them from", 1)


class Blending(LabelFeatureMethod):
    """Has prototypes of every class, and learns the blending weights."""

    kept = ("alpha", "beta", "prototypes", "seen")

    def __init__(self, config: SarbConfig) -> None:
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


METHODS = {
    "sst": NamedMethod(
        "Structured semantic transfer (SST)",
        "Chen et al. 2022 (SST); PU-MLC (arXiv 2306.16016), Table I",
        SstConfig,
        SemanticTransfer,
        needs=Needs(negatives=True, state=True, label_features=True),
        presets={"published": SstConfig(joint=512, hidden=1024)},
        text="""\
Structured semantic transfer: pseudo-labels from co-occurring classes and similar images.

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
that layer too, and is smaller; the preset ``published`` has its widths.""",
    ),
    "sarb": NamedMethod(
        "Semantic-aware representation blending (SARB)",
        "Pu et al. 2022 (SARB); PU-MLC (arXiv 2306.16016), Table I",
        SarbConfig,
        Blending,
        needs=Needs(negatives=True, state=True, label_features=True),
        text="""\
Semantic-aware representation blending: blend features of known tags into unknown ones.

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
prototype.""",
    ),
}
