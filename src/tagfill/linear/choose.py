"""Choices by cross-validated likelihood of the observed labels: no truth is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from tagfill.arrays import Matrix
from tagfill.linear.basis import TRANSFORMS, Basis, Transform, is_large
from tagfill.linear.choice import FIRST, MOSTLY, UNTAGGED, Choice, WriterName, candidates, untagged
from tagfill.linear.costs import held_out_cost, labeling_cost, recorded_labeling_cost
from tagfill.linear.given_number import choice_costs
from tagfill.linear.solve import Solution, solve
from tagfill.linear.stream import gathered

FOLDS = (3, 5)
"""Fewest and most; fewer images are divided into more folds, so that heads learn from more."""
HELD_OUT = 3_000
"""Images that are scored for a choice, if there are so many. With no more than that, all transforms
are tried with strengths of their own."""
MOST = 10_000
"""Images that choices are made with; of more, so many evenly spread."""
STRENGTHS = (1e-5, 10.0)
"""Lowest and highest."""
CLEARLY = 2.0
"""Standard errors by which a choice is refuted, about 1 in 40 by chance."""
HOPELESS = 0.5
"""Held-out cost per image by which a writer is so much worse that another penalty is not tried."""
FAR = 0.25
"""The same of a transform of the features."""
CLOSE = 0.02
"""The same by which another transform is hardly worse: about as much as other folds make."""
GAIN = 1e-4
"""Held-out cost per image that another strength must save; less is rounding."""
TOLERANCE = GAIN / 1_000
"""Decrease per image at which a compared head is close enough to its optimum."""


@dataclass(frozen=True)
class Trial:
    """One choice and its held-out negative log-likelihood per image."""

    choice: Choice
    score: float


class Chooser:
    """Compares choices on held-out images.

    Args:
        features: [N, D].
        observed: [N, K] labels 1, 0, -1.
        reviewed: [N, K] entries that a review answered, where that is recorded.
        seed: of the folds.
        sample: whether these are some of very many images, for which single precision will do.
    """

    def __init__(
        self,
        features: Matrix,
        observed: Tensor,
        reviewed: Tensor | None = None,
        seed: int = 0,
        *,
        sample: bool = False,
    ) -> None:
        self.features, self.observed = features, observed
        self.reviewed, self.sample = reviewed, sample
        folds = int(np.clip(HELD_OUT // max(len(observed), 1), *FOLDS))
        self.folds = fold_of(len(observed), folds, seed)
        self._scored: dict[Choice, float] = {}
        self._writers: dict[tuple[WriterName, float, int], float] = {}
        self._bases: dict[Transform, Basis] = {}
        self._last: dict[tuple[Transform, int], Solution] = {}
        """By fold: a head that has seen an image must not be the start of one that scores it."""
        self._leader: tuple[Choice, Tensor, Tensor] | None = None
        """The best choice so far, the held-out rows and their logits."""

    def basis(self, transform: Transform) -> Basis:
        """The features transformed, made once; of very many images only the last one is kept."""
        if transform not in self._bases:
            if self.sample:
                self._bases.clear()
            self._bases[transform] = Basis.of(self.features, transform, single=self.sample)
        return self._bases[transform]

    def score(self, choice: Choice) -> float:
        """Held-out cost per image of the labels under a choice."""
        if choice not in self._scored:
            rows, logits = self._held_out(choice)
            observed = self.observed[rows]
            reviewed = None if self.reviewed is None else self.reviewed[rows]
            cost = replace(choice, smoothing=0.0).objective(observed, reviewed)
            total = held_out_cost(cost, logits) + self._labeling(choice, rows, logits)
            cost_per_image = total + choice.surprise / len(rows)
            if cost_per_image < min(self._scored.values(), default=np.inf):
                self._leader = choice, rows, logits
            self._scored[choice] = cost_per_image
        return self._scored[choice]

    def _labeling(self, choice: Choice, rows: Tensor, logits: Tensor) -> float:
        """The labeling cost of a writer, the same for all strengths and transforms."""
        writer = choice.writer, choice.share, choice.max_written
        if writer not in self._writers:
            observed = self.observed[rows]
            self._writers[writer] = (
                labeling_cost(choice, observed, logits)
                if self.reviewed is None
                else recorded_labeling_cost(choice, observed, self.reviewed[rows])
            )
        return self._writers[writer]

    @property
    def trials(self) -> list[Trial]:
        """Choices compared so far."""
        return [Trial(*pair) for pair in self._scored.items()]

    def _held_out(self, choice: Choice) -> tuple[Tensor, Tensor]:
        """Rows of the scored folds, and their logits by heads that have not seen them."""
        if self._leader is not None and self._leader[0] == choice:
            return self._leader[1:]
        basis = self.basis(choice.transform)
        objective = choice.objective(self.observed, self.reviewed)
        rows: list[Tensor] = []
        logits: list[Tensor] = []
        for fold in range(int(self.folds.max()) + 1):
            if sum(map(len, rows)) >= HELD_OUT:
                break
            kept, left = self.split(fold)
            head = solve(
                basis,
                objective.subset(kept),
                choice.strength,
                rows=kept,
                start=self.head(choice.transform, fold),
                tolerance=TOLERANCE,
            )
            self._last[choice.transform, fold] = head
            rows.append(left)
            logits.append(head.scores(basis, left))
        return torch.cat(rows), torch.cat(logits)

    def head(self, transform: Transform, fold: int) -> Solution | None:
        """The last one that has not seen a fold, to start the next one from."""
        return self._last.get((transform, fold))

    def split(self, fold: int) -> tuple[Tensor, Tensor]:
        """Rows to fit and rows to score; one image alone is both."""
        out = self.folds == fold
        kept = out if bool(out.all()) else ~out
        return kept.nonzero()[:, 0], out.nonzero()[:, 0]

    def best(self, choices: Sequence[Choice]) -> Choice:
        """The one with the least held-out cost, the earlier at a tie."""
        return choices[0] if len(choices) == 1 else min(choices, key=self.score)

    def best_strength(self, choice: Choice) -> Choice:
        """Walk downhill from the given strength; ``refined`` looks between steps at the end."""

        def lower(one: Choice) -> bool:
            inside = STRENGTHS[0] <= one.strength <= STRENGTHS[1]
            return inside and self.score(one) < self.score(choice) - GAIN

        direction = -1 if lower(choice.stepped(-1)) else 1
        while lower(choice.stepped(direction)):
            choice = choice.stepped(direction)
        return choice

    def close_transforms(self, choice: Choice) -> list[Choice]:
        """The same choice with other transforms that are hardly worse, at their best strengths."""
        best: dict[Transform, Trial] = {}
        for trial in sorted(self.trials, key=lambda trial: trial.score):
            one = trial.choice
            if replace(one, transform=choice.transform, strength=choice.strength) == choice:
                best.setdefault(one.transform, trial)
        own = best.pop(choice.transform)
        return [rival.choice for rival in best.values() if rival.score < own.score + CLOSE]

    def prefer_plain_writer(
        self, choice: Choice, writers: Sequence[Choice], transforms: Sequence[Transform]
    ) -> Choice:
        """A writer who leaves little unsaid, unless the choice is clearly better.

        "It is always there and was not written" explains a class that no line tells apart. So
        where nothing is known to be absent, the plainer writer is taken unless held-out images
        refute it: which tags were written, given how many. Where entries are known to be absent,
        what is unknown may say nothing, as in a plain regression.

        Args:
            choice: the best so far.
            writers: to choose from.
            transforms: to try with strengths of their own.
        """
        reviewed = bool((self.observed == 0).any())
        share = 0.0 if reviewed else MOSTLY if untagged(self.observed) > UNTAGGED else 1.0
        plain = [one for one in writers if one.writer == "each" and one.share == share]
        settled = choice.share == share if reviewed else choice.share >= share
        if not plain or (choice.writer == "each" and settled):
            return choice
        same = replace(plain[0], transform=choice.transform, strength=choice.strength)
        if not reviewed and self._refuted(same, choice):
            return choice
        rivals = [replace(same, transform=name) for name in transforms]
        if reviewed:
            return self.best([choice, same, *map(self.best_strength, rivals)])
        return self.best_strength(self.best(rivals)) if rivals else same

    def _refuted(self, one: Choice, other: Choice) -> bool:
        """Whether one choice is clearly worse than another at which tags were written."""
        worse = self._which(one) - self._which(other)
        return bool(worse.mean() > CLEARLY * worse.std(correction=0) / len(worse) ** 0.5)

    def _which(self, choice: Choice) -> Tensor:
        """[n] held-out costs of which tags were written, given how many."""
        rows, logits = self._held_out(choice)
        observed = self.observed[rows]
        return choice_costs(logits, observed, choice.written_by(observed))

    def refined(self, choice: Choice, cost: Callable[[Choice], float] | None = None) -> Choice:
        """The lowest point of the parabola through the costs of a strength and its neighbors."""
        low, middle, high = ((cost or self.score)(choice.stepped(step)) for step in (-1, 0, 1))
        bend = low - 2 * middle + high
        return choice.stepped(float(np.clip(0.5 * (low - high) / bend, -1, 1)) if bend > 0 else 0)


def choose(
    features: Matrix,
    observed: Tensor,
    *,
    reviewed: Tensor | None = None,
    writers: Sequence[Choice] | None = None,
    strength: float | None = None,
    transforms: Sequence[Transform] = TRANSFORMS,
    seed: int = 0,
) -> tuple[Choice, Chooser]:
    """Writer, transform and strength with the best held-out likelihood.

    Args:
        features: [N, D].
        observed: [N, K] labels 1, 0, -1.
        reviewed: [N, K] entries that a review answered, where that is recorded.
        writers: to choose from; by default all that could have left these labels.
        strength: a given one.
        transforms: to choose from, the likeliest first.
        seed: of the folds.
    """
    writers = candidates(observed, Choice()) if writers is None else writers
    if len(observed) > MOST:
        rows = np.linspace(0, len(observed) - 1, MOST).astype(np.intp)
        some = None if reviewed is None else reviewed[rows]
        few = gathered(features, rows)
        chooser = Chooser(few, observed[rows], some, seed, sample=is_large(features))
        choice = _chosen(chooser, writers, strength, transforms)
        # a penalty holds against the features of all images, whose sum of squares is larger
        relative = choice.strength * (MOST / len(observed) if strength is None else 1)
        return replace(choice, strength=float(f"{relative:.6g}")), chooser
    chooser = Chooser(features, observed, reviewed, seed)
    return _chosen(chooser, writers, strength, transforms), chooser


def _chosen(
    chooser: Chooser,
    writers: Sequence[Choice],
    strength: float | None,
    transforms: Sequence[Transform],
) -> Choice:
    at = FIRST if strength is None else strength
    first = [replace(one, transform=transforms[0], strength=at) for one in writers]
    choice = chooser.best(first)
    if strength is not None:
        return chooser.best([replace(choice, transform=name) for name in transforms])
    choice = chooser.best_strength(choice)
    tried = [replace(choice, transform=name) for name in transforms]
    if len(chooser.observed) > HELD_OUT:
        choice = chooser.best_strength(chooser.best(tried))
        return chooser.refined(chooser.prefer_plain_writer(choice, writers, ()))
    rivals = [one for one in tried[1:] if chooser.score(one) < chooser.score(choice) + FAR]
    choice = chooser.best([choice, *map(chooser.best_strength, rivals)])
    near = [one for one in first if chooser.score(one) < chooser.score(choice) + HOPELESS]
    again = [replace(one, transform=choice.transform, strength=choice.strength) for one in near]
    choice = chooser.best_strength(chooser.best([choice, *again]))
    return chooser.refined(chooser.prefer_plain_writer(choice, writers, transforms))


def fold_of(images: int, folds: int, seed: int) -> Tensor:
    """[N] the fold of each image; the same for the same seed."""
    count = max(2, min(folds, images))
    order = np.random.default_rng([seed, images, 17]).permutation(images)
    return torch.from_numpy(order % count)
