"""Fit a linear head to features and incomplete labels, with every choice made by likelihood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tagfill.arrays import Mask, Numbers
from tagfill.errors import TagfillError
from tagfill.labels import Labels
from tagfill.linear.basis import (
    ENTRIES,
    FEW_ROWS,
    TRANSFORMS,
    Basis,
    Transform,
    blocks,
    is_large,
)
from tagfill.linear.choice import Choice
from tagfill.linear.choose import Chooser, Trial, choose, fold_of
from tagfill.linear.regional_cost import RegionalCost
from tagfill.linear.regions import (
    Features,
    RegionFeatures,
    Regions,
    has_regions,
    refined,
    scores,
    whole,
)
from tagfill.linear.solve import solve
from tagfill.linear.threads import on_one_thread, side_by_side

FOLDS = 5
FEW_FOLDS = 2
"""Of very many images: half of them teach as much as four fifths, in a quarter of the time."""


@dataclass(frozen=True, eq=False)
class LikelihoodHead:
    """A fitted linear head.

    Args:
        weight: [K, D] on the transformed features.
        bias: [K].
        choice: how it was fitted.
        trials: the choices that were compared, in order.
        steps: of the solver in the last fit.
        loss: what the last fit minimized, as a mean over entries.
    """

    weight: Numbers
    bias: Numbers
    choice: Choice
    trials: tuple[Trial, ...] = ()
    steps: int = 0
    loss: float = 0.0

    @property
    def power(self) -> float:
        """The power of features that a linear head must take."""
        return 0.5 if self.choice.transform == "roots" else 1.0

    def logits(self, features: Features) -> Numbers:
        """[N, K] of features as they are given."""
        weight, bias = torch.from_numpy(self.weight), torch.from_numpy(self.bias)
        logits, start = torch.empty(len(features), len(bias)), 0
        for block in blocks(whole(features), self._blocks, most=FEW_ROWS):
            for rows in block.split(ENTRIES // len(bias) + 1):
                some = torch.addmm(bias.double(), rows.double(), weight.double().T)
                logits[start : start + len(rows)] = some
                start += len(rows)
        if has_regions(features):
            best = RegionFeatures(features, self._blocks).best(weight.T, bias)
            logits = (logits + best) / 2
        return logits.numpy()

    @property
    def _blocks(self) -> Transform:
        """Scales of standardized features are part of the weights."""
        return "roots" if self.choice.transform == "roots" else "plain"


@on_one_thread
def fit_head(
    features: Features,
    observed: Labels,
    *,
    choice: Choice | None = None,
    reviewed: Mask | None = None,
    candidates: Sequence[Choice] | None = None,
    strength: float | None = None,
    transforms: Sequence[Transform] = TRANSFORMS,
    seed: int = 0,
) -> LikelihoodHead:
    """Fit a head; the same input gives the same bytes.

    Args:
        features: [N, D], also half precision or a mapped file; or [N, D, H, W] by regions: then
            an image's logits are the mean of its own and of its best region's.
        observed: [N, K] labels 1, 0, -1.
        choice: writer, strength, smoothing and transform; by default chosen by the cross-validated
            likelihood of the observed labels.
        reviewed: [N, K] entries that a review answered after the tags were written, where that is
            recorded.
        candidates: writers to choose from.
        strength: of the penalty, where it is not to be chosen.
        transforms: of the features, to choose from.
        seed: of the folds.

    Raises:
        TagfillError: no label is positive.
    """
    labels, answered = _tensors(features, observed, reviewed)
    images = whole(features)
    if choice is not None:
        basis = Basis.of(images, choice.transform)
        return _fitted(basis, features, labels, answered, choice)
    choice, chooser = choose(
        images,
        labels,
        reviewed=answered,
        writers=candidates,
        strength=strength,
        transforms=transforms,
        seed=seed,
    )
    chosen_with_all = len(chooser.observed) == len(labels)
    if has_regions(features) and chosen_with_all and strength is None:
        choice = _by_regions(chooser, choice, features)
    basis = (
        chooser.basis(choice.transform) if chosen_with_all else Basis.of(images, choice.transform)
    )
    return _fitted(basis, features, labels, answered, choice, chooser)


def _by_regions(chooser: Chooser, choice: Choice, features: Features) -> Choice:
    """The transform by regions, where whole images hardly tell, and then the strength."""

    def cost(one: Choice) -> float:
        return RegionalCost(chooser, features, one.transform)(one)

    rivals = chooser.close_transforms(choice)
    choice = min([choice, *rivals], key=cost) if rivals else choice
    return chooser.refined(choice, RegionalCost(chooser, features, choice.transform))


def default_folds(features: Features) -> int:
    """Into how many parts images are divided for scores by heads that have not seen them."""
    return FEW_FOLDS if is_large(whole(features)) else FOLDS


@on_one_thread
def out_of_fold(
    features: Features,
    observed: Labels,
    choice: Choice,
    *,
    reviewed: Mask | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    out: Numbers | None = None,
    fitted: Callable[[], None] | None = None,
) -> Numbers:
    """[N, K] logits of every image by heads that have not seen it.

    Args:
        features: [N, D], or [N, D, H, W] by regions.
        observed: [N, K] of 1, 0, -1.
        choice: how the heads are fitted.
        reviewed: [N, K] entries that a review answered, if recorded.
        folds: number of heads.
        seed: of the folds.
        out: [N, K] where the logits go, if given.
        fitted: called after each head.
    """
    labels, answered = _tensors(features, observed, reviewed)
    basis, fold = Basis.of(whole(features), choice.transform), fold_of(len(labels), folds, seed)
    objective = choice.objective(labels, answered)
    regions = Regions(basis, features) if has_regions(features) else None
    logits = torch.empty(labels.shape) if out is None else torch.from_numpy(out)

    def score(number: int) -> None:
        kept, left = (fold != number).nonzero()[:, 0], (fold == number).nonzero()[:, 0]
        part = objective.subset(kept)
        head = solve(basis, part, choice.strength, rows=kept)
        if regions is not None:
            head = refined(basis, regions, part, choice.strength, head, kept)
        for some in left.split(basis.rows_at_once(labels.shape[1])):
            logits[some] = scores(basis, head, regions, some)

    for _ in side_by_side(score, range(int(fold.max()) + 1)):
        if fitted is not None:
            fitted()
    return logits.numpy()


def _fitted(
    basis: Basis,
    features: Features,
    labels: Tensor,
    reviewed: Tensor | None,
    choice: Choice,
    chooser: Chooser | None = None,
) -> LikelihoodHead:
    objective = choice.objective(labels, reviewed)
    solution = solve(basis, objective, choice.strength)
    if has_regions(features):
        regions = Regions(basis, features)
        solution = refined(basis, regions, objective, choice.strength, solution)
    weight, bias = basis.head(solution.weight, solution.bias)
    trials = () if chooser is None else tuple(chooser.trials)
    return LikelihoodHead(
        np.ascontiguousarray(weight.float().numpy()),
        bias.float().numpy(),
        choice,
        trials,
        solution.steps,
        solution.loss,
    )


def _tensors(
    features: Features, observed: Labels, reviewed: Mask | None
) -> tuple[Tensor, Tensor | None]:
    if len(features) != len(observed):
        raise TagfillError(f"{len(features)} rows of features, {len(observed)} of labels")
    labels = torch.from_numpy(np.array(observed, dtype=np.int8))
    if not bool((labels == 1).any()):
        raise TagfillError(
            "cannot learn: no observed label is positive",
            remedy="check the label file with `tagfill inspect`",
        )
    return labels, None if reviewed is None else torch.from_numpy(np.array(reviewed, bool))
