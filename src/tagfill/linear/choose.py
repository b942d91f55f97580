"""Choices by cross-validated likelihood of the observed labels: no truth is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize, minimize_scalar
from torch import Tensor

from tagfill.linear.basis import TRANSFORMS, Basis, Matrix, Transform, is_large
from tagfill.linear.given_number import choice_costs
from tagfill.linear.solve import Likelihood, Solution, solve
from tagfill.losses.likelihood import Writer, each_written, some_written

WriterName = Literal["some", "each"]

SMOOTHING = 0.05
"""Held-out likelihood cannot choose it, it always wants less; the best or nearly so on all data."""
FREE_SCALE = 2 / 3
"""Share of the held-out cost that is taken after the best scale and shift of the scores. Without it
penalties are too weak (they pay for smoothed, small scores), with nothing else too strong."""
FOLDS = (3, 5)
"""Fewest and most; the fewer images, the more folds, and the more of them each head learns from."""
HELD_OUT = 3_000
"""Images that are scored for a choice, as far as there are so many. With no more than that, all
transforms are tried with strengths of their own."""
MOST = 10_000
"""Images that choices are made with; of more, so many evenly spread."""
STEP = 10**0.5
"""Between neighboring strengths."""
STRENGTHS = (1e-5, 10.0)
CLEARLY = 2.0
"""Standard errors that refute, about 1 in 40 by chance."""
GAIN = 1e-4
"""Held-out cost per image that another strength must save; less is rounding."""
FIRST = 0.1
DECADES = 1.0
"""Strengths are believed to lie about so many powers of ten from the first; it matters where a few
dozen labels could be explained by next to no penalty."""
MOSTLY = 0.7
SHARES = (MOSTLY / 2, MOSTLY, 1.0)
"""Chances of being written that are tried for writers who write each tag by itself."""
UNTAGGED = 0.05
"""Share of images without a positive above which not all can have been written."""


@dataclass(frozen=True)
class Choice:
    """Everything a fit needs beside features and labels.

    Args:
        writer: "some": any n of the tags that are there were written; "each": each by itself.
        share: chance of being written for "each"; 0 means entries known at random.
        most: for "some", an image's ones beyond so many were confirmed by a review; 0: none were.
        strength: of the L2 penalty, relative to the features' mean sum of squares.
        smoothing: of entries, see ``Likelihood``.
        transform: of the features.
    """

    writer: WriterName = "some"
    share: float = 0.5
    most: int = 0
    strength: float = FIRST
    smoothing: float = SMOOTHING
    transform: Transform = "roots"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for files."""
        return asdict(self)

    def describe(self) -> str:
        """In a few words."""
        kinds = {0.0: "entries known at random", 1.0: "unknown tags are absent"}
        written = kinds.get(self.share, f"{self.share:.0%} of the tags written")
        how = "any n of the tags written" if self.writer == "some" else written
        return f"{how}; features {self.transform}; L2 {self.strength:.2g}"

    @property
    def surprise(self) -> float:
        """Cost of the strength before anything is seen."""
        return 0.5 * float(np.log10(max(self.strength, 1e-300) / FIRST) / DECADES) ** 2

    def stepped(self, steps: float) -> Choice:
        """With a penalty this many steps stronger."""
        return replace(self, strength=float(f"{self.strength * STEP**steps:.6g}"))

    def written_by(self, observed: Tensor, written: Tensor | None = None) -> Writer:
        """The writer of these labels.

        Args:
            observed: [N, K] labels 1, 0, -1.
            written: [N] how many of the ones were written, where that is known.
        """
        if self.writer == "each":
            return each_written(observed, self.share)
        if written is None and self.most:
            written = (observed == 1).sum(1).clamp(max=self.most)
        return some_written(observed, written)

    def objective(self, observed: Tensor, written: Tensor | None = None) -> Likelihood:
        """The objective on these labels."""
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
        sample: whether these are some of very many images, for which single precision will do.
    """

    def __init__(
        self,
        features: Matrix,
        observed: Tensor,
        written: Tensor | None = None,
        seed: int = 0,
        *,
        sample: bool = False,
    ) -> None:
        self.features, self.observed = features, observed
        self.written, self.sample = written, sample
        folds = int(np.clip(HELD_OUT // max(len(observed), 1), *FOLDS))
        self.folds = fold_of(len(observed), folds, seed)
        self._scored: dict[Choice, float] = {}
        self._bases: dict[Transform, Basis] = {}
        self._last: dict[tuple[Transform, int], Solution] = {}
        """By fold: a head that has seen an image must not be the start of one that scores it."""

    def basis(self, transform: Transform) -> Basis:
        """The features transformed, made once."""
        if transform not in self._bases:
            self._bases[transform] = Basis.of(self.features, transform, single=self.sample)
        return self._bases[transform]

    def score(self, choice: Choice) -> float:
        """Held-out cost per image of the labels under a choice."""
        if choice not in self._scored:
            rows, logits = self._held_out(choice)
            observed = self.observed[rows]
            written = None if self.written is None else self.written[rows]
            cost = replace(choice, smoothing=0.0).objective(observed, written)
            total = held_out_cost(cost, logits) + labeling_cost(choice, observed)
            self._scored[choice] = total + choice.surprise / len(rows)
        return self._scored[choice]

    @property
    def trials(self) -> list[Trial]:
        """Choices compared so far."""
        return [Trial(*pair) for pair in self._scored.items()]

    def _held_out(self, choice: Choice) -> tuple[Tensor, Tensor]:
        basis = self.basis(choice.transform)
        objective = choice.objective(self.observed, self.written)
        rows: list[Tensor] = []
        logits: list[Tensor] = []
        for fold in range(int(self.folds.max()) + 1):
            if sum(map(len, rows)) >= HELD_OUT:
                break
            kept, left = self._split(fold)
            place = choice.transform, fold
            head = solve(
                basis,
                objective.some(kept),
                choice.strength,
                rows=kept,
                start=self._last.get(place),
            )
            self._last[place] = head
            rows.append(left)
            logits.append(head.scores(basis, left))
        return torch.cat(rows), torch.cat(logits)

    def _split(self, fold: int) -> tuple[Tensor, Tensor]:
        """Rows to fit and rows to score; one image alone is both."""
        out = self.folds == fold
        kept = out if bool(out.all()) else ~out
        return kept.nonzero()[:, 0], out.nonzero()[:, 0]

    def best(self, choices: Sequence[Choice]) -> Choice:
        """The one with the least held-out cost, the earlier at a tie."""
        return choices[0] if len(choices) == 1 else min(choices, key=self.score)

    def best_strength(self, choice: Choice) -> Choice:
        """Walk downhill from the given strength; ``between`` refines the end."""

        def lower(one: Choice) -> bool:
            inside = STRENGTHS[0] <= one.strength <= STRENGTHS[1]
            return inside and self.score(one) < self.score(choice) - GAIN

        way = -1 if lower(choice.stepped(-1)) else 1
        while lower(choice.stepped(way)):
            choice = choice.stepped(way)
        return choice

    def simpler(
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

    def between(self, choice: Choice) -> Choice:
        """The lowest point of the parabola through a strength and its neighbors."""
        low, middle, high = (self.score(choice.stepped(step)) for step in (-1, 0, 1))
        bend = low - 2 * middle + high
        return choice.stepped(float(np.clip(0.5 * (low - high) / bend, -1, 1)) if bend > 0 else 0)


def choose(
    features: Matrix,
    observed: Tensor,
    *,
    written: Tensor | None = None,
    open_: Sequence[Choice] | None = None,
    strength: float | None = None,
    transforms: Sequence[Transform] = TRANSFORMS,
    seed: int = 0,
) -> tuple[Choice, Chooser]:
    """Writer, transform and strength with the best held-out likelihood.

    Args:
        features: [N, D].
        observed: [N, K] labels 1, 0, -1.
        written: [N] how many ones were written, where known.
        open_: writers to choose from; by default all that could have left these labels.
        strength: a given one.
        transforms: to choose from, the likeliest first.
        seed: of the folds.
    """
    if len(observed) > MOST:
        rows = np.linspace(0, len(observed) - 1, MOST).astype(np.intp)
        some = None if written is None else written[rows]
        chooser = Chooser(features[rows], observed[rows], some, seed, sample=is_large(features))
        choice = _chosen(
            chooser,
            candidates(observed, Choice()) if open_ is None else open_,
            strength,
            transforms,
        )
        # a penalty holds against the features of all images, whose sum of squares is larger
        relative = choice.strength * (MOST / len(observed) if strength is None else 1)
        return replace(choice, strength=float(f"{relative:.6g}")), chooser
    chooser = Chooser(features, observed, written, seed)
    writers = candidates(observed, Choice()) if open_ is None else open_
    return _chosen(chooser, writers, strength, transforms), chooser


def _chosen(
    chooser: Chooser,
    start: Sequence[Choice],
    strength: float | None,
    transforms: Sequence[Transform],
) -> Choice:
    at = FIRST if strength is None else strength
    choice = chooser.best([replace(one, transform=transforms[0], strength=at) for one in start])
    if strength is not None:
        return chooser.best([replace(choice, transform=name) for name in transforms])
    choice = chooser.best_strength(choice)
    tried = [replace(choice, transform=name) for name in transforms]
    if len(chooser.observed) > HELD_OUT:
        choice = chooser.best_strength(chooser.best(tried))
        return chooser.between(chooser.simpler(choice, start, ()))
    choice = chooser.best([choice, *map(chooser.best_strength, tried[1:])])
    writers = [replace(one, transform=choice.transform, strength=choice.strength) for one in start]
    choice = chooser.best_strength(chooser.best([choice, *writers]))
    return chooser.between(chooser.simpler(choice, start, transforms))


def candidates(observed: Tensor, choice: Choice) -> list[Choice]:
    """Writers that could have left these labels.

    Where entries are known to be absent there was a review, and which ones it confirmed is not
    written down: images have as many written tags as most images have, if they have so many.
    """
    if not bool((observed < 0).any()):
        return [replace(choice, writer="each", share=1.0)]
    reviewed = bool((observed == 0).any())
    counts = torch.bincount((observed == 1).sum(1))[1:]
    most = int(counts.argmax()) + 1 if reviewed and len(counts) else 0
    shares = (0.0, *SHARES) if reviewed else SHARES
    independent = [replace(choice, writer="each", share=share) for share in shares]
    return [replace(choice, writer="some", most=most), *independent]


def untagged(observed: Tensor) -> float:
    """Share of images without a known positive."""
    return float((observed != 1).all(1).double().mean())


def held_out_cost(objective: Likelihood, logits: Tensor) -> float:
    """Cost per image of held-out labels, in part after the best scale and shift of the scores."""

    def cost(line: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        scaled = float(np.exp(line[0])) * logits
        value, slopes = objective(scaled + float(line[1]), slice(None))
        along = (slopes * scaled).sum(dtype=torch.float64), slopes.sum(dtype=torch.float64)
        size = len(logits)
        return float(value.sum(dtype=torch.float64)) / size, np.array([*map(float, along)]) / size

    plain, _ = cost(np.zeros(2))
    best = minimize(cost, np.zeros(2), jac=True, method="L-BFGS-B", options={"maxiter": 15})
    return FREE_SCALE * float(best.fun) + (1 - FREE_SCALE) * plain


def labeling_cost(choice: Choice, observed: Tensor) -> float:
    """Cost per image of which entries are known at all, the part that the logits do not decide.

    Entries that nobody wrote are reviewed with a chance r of their own. A writer of "each" tag with
    chance c leaves a known positive with chance c + (1 - c) r, a writer of "some" with a
    distribution over how many are known.
    """
    images = len(observed)
    yes, no = int((observed == 1).sum()), int((observed == 0).sum())
    unknown = observed.numel() - yes - no
    if choice.writer == "each":
        return _each_cost(choice.share, yes, no, unknown) / images
    sizes = torch.bincount((observed == 1).sum(1)).double()
    share = sizes[sizes > 0] / images
    return float(-(share * share.log()).sum()) + _cost(no, unknown) / images


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
