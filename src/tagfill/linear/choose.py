"""Choices by cross-validated likelihood of the observed labels: no truth is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from tagfill.linear.basis import Basis, Matrix, Transform
from tagfill.linear.solve import Likelihood, Solution, solve
from tagfill.losses.likelihood import Writer, each_written, some_written

WriterName = Literal["some", "each"]

SMOOTHING = 0.05
"""Held-out likelihood cannot choose it, it always wants less; the best or nearly so on all data."""
FOLDS = 3
HELD_OUT = 3_000
"""Images that are scored for a choice, as far as there are so many."""
STEP = 10**0.5
"""Between neighboring strengths."""
STRENGTHS = (1e-5, 10.0)
FIRST = 0.1
SHARES = (0.35, 0.7, 1.0)
"""Chances of being written that are tried for writers who write each tag by itself."""
TRANSFORMS: tuple[Transform, ...] = ("roots", "plain", "standard")
_COARSE = 1e-4
"""Tolerance of fits that are only compared."""


@dataclass(frozen=True)
class Choice:
    """Everything a fit needs beside features and labels.

    Args:
        writer: "some": any n of the tags that are there were written; "each": each by itself.
        share: chance of being written for "each"; 0 means entries known at random.
        strength: of the L2 penalty, relative to the features' mean sum of squares.
        smoothing: of entries, see ``Likelihood``.
        transform: of the features.
    """

    writer: WriterName = "some"
    share: float = 0.5
    strength: float = FIRST
    smoothing: float = SMOOTHING
    transform: Transform = "roots"

    def written_by(self, observed: Tensor, written: Tensor | None = None) -> Writer:
        """The writer of these labels."""
        if self.writer == "some":
            return some_written(observed, written)
        return each_written(observed, self.share)

    def objective(self, observed: Tensor, written: Tensor | None = None) -> Likelihood:
        """What is minimized on these labels."""
        return Likelihood(observed, self.written_by(observed, written), self.smoothing)


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
        written: [N] how many of the ones were written, the rest confirmed by a review, if known.
        seed: of the folds.
    """

    def __init__(
        self, features: Matrix, observed: Tensor, written: Tensor | None = None, seed: int = 0
    ) -> None:
        self.features, self.observed, self.written = features, observed, written
        self.folds = fold_of(len(observed), FOLDS, seed)
        self.trials: list[Trial] = []
        self._bases: dict[Transform, Basis] = {}
        self._last: dict[Transform, Solution] = {}

    def basis(self, transform: Transform) -> Basis:
        """The features transformed, made once."""
        if transform not in self._bases:
            self._bases[transform] = Basis.of(self.features, transform)
        return self._bases[transform]

    def score(self, choice: Choice) -> float:
        """Held-out cost per image of the labels under a choice."""
        for trial in self.trials:
            if trial.choice == choice:
                return trial.score
        rows, logits = self._held_out(choice)
        observed = self.observed[rows]
        written = None if self.written is None else self.written[rows]
        cost = replace(choice, smoothing=0.0).objective(observed, written)
        value = float(cost(logits, slice(None))[0].mean(dtype=torch.float64))
        value += labeling_cost(choice, observed, written)
        self.trials.append(Trial(choice, value))
        return value

    def _held_out(self, choice: Choice) -> tuple[Tensor, Tensor]:
        basis = self.basis(choice.transform)
        objective = choice.objective(self.observed, self.written)
        start = self._last.get(choice.transform)
        rows: list[Tensor] = []
        logits: list[Tensor] = []
        for fold in range(int(self.folds.max()) + 1):
            if sum(map(len, rows)) >= HELD_OUT:
                break
            kept, left = self._split(fold)
            start = solve(
                basis,
                objective.some(kept),
                choice.strength,
                rows=kept,
                start=start,
                tolerance=_COARSE,
            )
            rows.append(left)
            logits.append(start.scores(basis.rotated[left]))
        assert start is not None
        self._last[choice.transform] = start
        return torch.cat(rows), torch.cat(logits)

    def _split(self, fold: int) -> tuple[Tensor, Tensor]:
        out = self.folds == fold
        return (~out).nonzero()[:, 0], out.nonzero()[:, 0]

    def best(self, choices: Sequence[Choice]) -> Choice:
        """The one with the least held-out cost, the earlier at a tie."""
        return min(choices, key=self.score)

    def best_strength(self, choice: Choice) -> Choice:
        """Walk downhill from the given strength, and end between the lowest three."""

        def at(place: int) -> Choice:
            return replace(choice, strength=choice.strength * STEP**place)

        def allowed(place: int) -> bool:
            return STRENGTHS[0] <= at(place).strength <= STRENGTHS[1]

        place = min((0, -1, 1), key=lambda each: self.score(at(each)))
        way = place or 1
        while (
            place and allowed(place + way) and self.score(at(place + way)) < self.score(at(place))
        ):
            place += way
        low, middle, high = (self.score(at(place + step)) for step in (-1, 0, 1))
        bend = low - 2 * middle + high
        shift = 0.5 * (low - high) / bend if bend > 0 else 0.0
        return replace(choice, strength=at(place).strength * STEP ** float(np.clip(shift, -1, 1)))


def choose(
    features: Matrix,
    observed: Tensor,
    *,
    written: Tensor | None = None,
    transforms: Sequence[Transform] = TRANSFORMS,
    seed: int = 0,
) -> tuple[Choice, Chooser]:
    """Writer, transform and strength with the best held-out likelihood."""
    chooser = Chooser(features, observed, written, seed)
    start = Choice(transform=transforms[0])
    writer = chooser.best(candidates(observed, start))
    ways = [chooser.best_strength(replace(writer, transform=each)) for each in transforms]
    choice = chooser.best(ways)
    return choice, chooser


def candidates(observed: Tensor, choice: Choice) -> list[Choice]:
    """Writers that could have left these labels."""
    if not bool((observed < 0).any()):
        return [replace(choice, writer="each", share=1.0)]
    at_random = (0.0,) if bool((observed == 0).any()) else ()
    each = [replace(choice, writer="each", share=share) for share in (*at_random, *SHARES)]
    return [replace(choice, writer="some"), *each]


def labeling_cost(choice: Choice, observed: Tensor, written: Tensor | None) -> float:
    """Cost per image of which entries are known at all, the part that the logits do not decide.

    Entries that nobody wrote are reviewed with a chance r of their own. A writer of "each" tag with
    chance c leaves a known positive with chance c + (1 - c) r, a writer of "some" with a
    distribution over how many are written.
    """
    images = len(observed)
    yes, no = int((observed == 1).sum()), int((observed == 0).sum())
    unknown = observed.numel() - yes - no
    if choice.writer == "each":
        return _each_cost(choice.share, yes, no, unknown) / images
    ones = (observed == 1).sum(1)
    counts = ones if written is None else torch.minimum(written, ones)
    reviewed = no + yes - int(counts.sum())
    sizes = torch.bincount(counts).double()
    share = sizes[sizes > 0] / images
    return float(-(share * share.log()).sum()) + _cost(reviewed, unknown) / images


def _each_cost(share: float, yes: int, no: int, unknown: int) -> float:
    def cost(chance: float) -> float:
        known = share + (1 - share) * chance
        total = -_times_log(yes, known) - _times_log(no, chance)
        return total - _times_log(unknown, 1 - chance)

    if no == 0 and share > 0:
        return cost(0.0)
    if unknown == 0:
        return cost(1.0)
    return float(minimize_scalar(cost, bounds=(0.0, 1.0), method="bounded").fun)


def _cost(taken: int, left: int) -> float:
    """Least cost of ``taken`` out of all under one chance."""
    size = max(taken + left, 1)
    return -_times_log(taken, taken / size) - _times_log(left, left / size)


def _times_log(count: int, chance: float) -> float:
    return count * float(np.log(max(chance, 1e-300))) if count else 0.0


def fold_of(images: int, folds: int, seed: int) -> Tensor:
    """[N] the fold of each image; the same for the same seed."""
    count = max(2, min(folds, images))
    order = np.random.default_rng([seed, images, 17]).permutation(images)
    return torch.from_numpy(order % count)
