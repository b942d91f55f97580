"""A training loop in miniature: everything a method may ask for, on 24 separable images.

rehearsal = Rehearsal("role", observed=REGIMES["single_positive"](make_truth()))
rehearsal.epoch()                       # steps over all images, then ``after_epoch``
rehearsal.losses(rows)                  # the named terms now, without an update
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from tagfill import methods
from tagfill.methods.base import Mixed, Setup, Step
from tagfill.models.output import Output

IMAGES, CLASSES, FEATURES, SIDE, EMBEDDING = 24, 5, 8, 2, 4
EPOCHS, BATCH = 4, 8
LEARNING_RATE = 0.05


def make_truth(seed: int = 0) -> Tensor:
    """[24, 5] full labels: one to three tags an image, every class with both kinds."""
    generator = torch.Generator().manual_seed(seed)
    truth = (torch.rand(IMAGES, CLASSES, generator=generator) < 0.3).to(torch.int8)
    truth[torch.arange(IMAGES), torch.arange(IMAGES) % CLASSES] = 1
    truth[torch.arange(IMAGES), (torch.arange(IMAGES) + 2) % CLASSES] = 0
    return truth


def make_features(truth: Tensor, seed: int = 0) -> Tensor:
    """[24, 8, 2, 2] maps from which the labels can be read off linearly."""
    generator = torch.Generator().manual_seed(seed + 1)
    directions = torch.randn(CLASSES, FEATURES, generator=generator)
    noise = 0.1 * torch.randn(len(truth), FEATURES, SIDE, SIDE, generator=generator)
    return ((truth.float() * 2 - 1) @ directions)[:, :, None, None] + noise


def single_positive(truth: Tensor) -> Tensor:
    """One positive an image and nothing else."""
    return some_of_each(truth, 1, 0)


def some_of_each(truth: Tensor, positives: int = 1, negatives: int = 2) -> Tensor:
    """At most k positives and m negatives an image."""
    observed = torch.full_like(truth, -1)
    for row, labels in enumerate(truth):
        for value, count in ((1, positives), (0, negatives)):
            entries = torch.nonzero(labels == value).flatten()
            observed[row, entries.roll(row)[:count]] = value
    return observed


def positives_only(truth: Tensor) -> Tensor:
    """About half of the positives, no negatives, some images without any label."""
    keep = torch.rand(truth.shape, generator=torch.Generator().manual_seed(3)) < 0.5
    return torch.where(keep & (truth == 1), truth, -1).to(torch.int8)


def known_proportion(truth: Tensor) -> Tensor:
    """About half of all entries."""
    keep = torch.rand(truth.shape, generator=torch.Generator().manual_seed(4)) < 0.5
    return torch.where(keep, truth, -1).to(torch.int8)


REGIMES: dict[str, Callable[[Tensor], Tensor]] = {
    "single_positive": single_positive,
    "positives_only": positives_only,
    "known_proportion": known_proportion,
    "full": lambda truth: truth.clone(),
    "some_of_each": some_of_each,
}


class ToyNetwork(nn.Module):
    """A linear head with maps and label-wise embeddings, so that no method lacks anything."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.weight = nn.Parameter(0.1 * torch.randn(CLASSES, FEATURES, generator=generator))
        self.bias = nn.Parameter(torch.zeros(CLASSES))
        self.project = nn.Parameter(
            torch.randn(CLASSES, EMBEDDING, FEATURES, generator=generator) / FEATURES**0.5
        )

    def forward(self, maps: Tensor) -> Output:
        """Logits are the spatial mean of the class maps."""
        scores = torch.einsum("kd,bdhw->bkhw", self.weight, maps) + self.bias[:, None, None]
        embeddings = torch.einsum("ked,bd->bke", self.project, maps.mean((2, 3)))
        return Output(
            logits=scores.mean((2, 3)),
            embeddings=nn.functional.normalize(embeddings, dim=-1),
            maps=scores,
            features=self.weight[None] * maps.mean((2, 3))[:, None],
        )

    def classify(self, features: Tensor) -> Tensor:
        """The logits of label-wise features."""
        return features.sum(2) + self.bias


class Rehearsal:
    """A method, a toy network and an optimizer, driven as the real loop drives them."""

    def __init__(
        self,
        name: str,
        observed: Tensor,
        *,
        truth: Tensor | None = None,
        settings: Mapping[str, Any] | None = None,
        preset: str | None = None,
        show_truth: bool = False,
    ) -> None:
        self.name, self.settings, self.preset = name, settings, preset
        self.truth = make_truth() if truth is None else truth
        self.features, self.observed = make_features(make_truth()), observed
        self.method = methods.make(name, settings, preset)
        self.show_truth = show_truth or self.method.needs.truth
        self.network = ToyNetwork()
        self.method.start(
            Setup(
                observed=observed,
                epochs=EPOCHS,
                steps_per_epoch=IMAGES // BATCH,
                learning_rate=LEARNING_RATE,
                expected_positives=float(make_truth().sum(1).float().mean()),
                class_prior=make_truth().float().mean(0),
                truth=self.truth if self.show_truth else None,
            )
        )
        groups = [{"params": list(self.network.parameters()), "lr": LEARNING_RATE}]
        groups += [
            {"params": group.parameters, "lr": group.learning_rate}
            for group in self.method.parameter_groups()
        ]
        self.optimizer = torch.optim.Adam(groups)
        self.steps = 0
        self.epochs = 0

    def view(self, rows: Tensor, *, generator_seed: int | None = None) -> Step:
        """The step the loop would make of these images now."""
        maps, needs = self.features[rows], self.method.needs
        seed = self.steps if generator_seed is None else generator_seed
        noise = torch.randn(maps.shape, generator=torch.Generator().manual_seed(seed))
        return Step(
            output=self.network(maps),
            observed=self.observed[rows],
            index=rows,
            epoch=self.epochs + 1,
            step=self.steps,
            strong=self.network(maps + 0.3 * noise) if needs.two_views else None,
            mixed=self._mixed(maps) if needs.mixup and len(rows) > 1 else None,
            weights=(self.network.weight,),
            generator=torch.Generator().manual_seed(seed),
            truth=self.truth[rows] if self.show_truth else None,
            classify=self.network.classify,
        )

    def train_step(self, rows: Tensor) -> float:
        """One update; returns the loss before it."""
        step = self.view(rows)
        total = torch.stack(list(self.method.loss(step).values())).sum()
        self.optimizer.zero_grad()
        if total.requires_grad:
            total.backward()
        self.optimizer.step()
        self.method.after_step(step)
        self.steps += 1
        return float(total.detach())

    def epoch(self) -> list[float]:
        """One pass over all images."""
        losses = [self.train_step(rows) for rows in torch.arange(IMAGES).split(BATCH)]
        self.epochs += 1
        with torch.no_grad():
            scores = self.network(self.features).logits.sigmoid()
        self.method.after_epoch(self.epochs, scores if self.method.needs.epoch_scores else None)
        return losses

    def resumed(self) -> Rehearsal:
        """Another rehearsal that goes on from what a checkpoint of this one would hold."""
        other = Rehearsal(self.name, self.observed, settings=self.settings, preset=self.preset)
        other.network.load_state_dict(copy.deepcopy(self.network.state_dict()))
        other.method.load_state({key: value.clone() for key, value in self.method.state().items()})
        other.optimizer.load_state_dict(copy.deepcopy(self.optimizer.state_dict()))
        other.steps, other.epochs = self.steps, self.epochs
        return other

    def losses(self, rows: Tensor, seed: int = 0) -> dict[str, float]:
        """The terms now, without an update; the same random draws for the same seed."""
        terms = self.method.loss(self.view(rows, generator_seed=seed))
        return {name: float(term.detach()) for name, term in terms.items()}

    def _mixed(self, maps: Tensor) -> Mixed:
        half = len(maps) // 2
        first, second = torch.arange(half), torch.arange(half, 2 * half)
        blend = 0.3 * maps[first] + 0.7 * maps[second]
        return Mixed(output=self.network(blend), first=first, second=second, weight=0.3)
