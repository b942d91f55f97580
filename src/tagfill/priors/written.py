"""How labels came to be known: the one place that says how many tags are missing, and which.

Scores of images by heads that have not seen them are turned into probabilities by a curve, and what
a person did with the tags that are there is described by a writer. Curve and writer are those under
which the labels that are known are likeliest. Two kinds of writers are compared:

- of "entries": each positive becomes known with chance c, each negative with chance d, whatever
  else is there;
- of "tags": the writer had a number u in mind and wrote u of the tags that are there, any of them
  equally likely, or all if there were no more than u. One tag per image is u = 1.

Where the writer is one of tags, that every image has one is no evidence of how often images have
tags at all: likelihoods are given that there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from scipy.optimize import minimize
from torch import Tensor

from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import Floats, checked, sigmoid
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels
from tagfill.linear.basis import Matrix
from tagfill.linear.choose import Choice, candidates, choose
from tagfill.linear.fit import out_of_fold
from tagfill.losses.likelihood import Writer, posterior, some_written

Kind = Literal["full", "entries", "tags"]

SAMPLE = 300_000
"""Entries that are fitted to; of more, images are taken at regular steps."""
ROWS = 262_144
"""Entries whose probabilities are computed at a time."""
FOLDS = 5
UNTAGGED = 0.05
"""Share of images without a positive up to which heads learn from the others alone."""
CLEARLY = 0.05
"""Log-likelihood per image by which writers of tags must be better where many images have none:
that nobody looked at those explains any number of them."""
SMOOTHING = 0.05
"""Of heads whose scores are to become probabilities."""
KNOTS = (0.1, 0.4, 0.7)
"""Shares of the known positives below which the curve has its bends."""
SMOOTH = 10.0
"""Strength of the prior that keeps neighboring pieces of the curve at about one slope."""
ALIKE, NEVER = 1.0, 0.02
"""Of writers of tags: log-odds that a sure tag beside the written one loses if images have one tag,
less if they have more; and the share of sure tags that are not there. What is known says nothing of
classes taken for each other; measured where the truth is known (docs/results/recovery.md)."""
TOLD = 0.01
"""Weight of the evidence that every image has a tag. Without any, faint scores are explained best
by images that all have exactly one."""
SHRINK = 10.0
"""Strength of the prior that holds a class's shift near that of all classes."""
_SLOPE, _SHIFT, _ODDS = 3.0, 12.0, 12.0
"""Bounds on |log slope|, on the shift of the logit and on log-odds of chances."""
_TINY = 1e-12


class Curve(NamedTuple):
    """A rising curve of straight pieces that passes through (0, 0) at its first knot.

    Args:
        knots: [Q].
        slopes: [Q + 1] before, between and after the knots; all positive.
    """

    knots: Tensor
    slopes: Tensor

    def __call__(self, scores: Tensor) -> Tensor:
        """What the curve makes of scores."""
        value = self.slopes[0] * (scores - self.knots[0])
        for knot, bend in zip(self.knots, self.slopes.diff(), strict=True):
            value = value + bend * (scores - knot).clamp_min(0)
        return value


@dataclass(frozen=True, eq=False)
class Written:
    """How the labels of some images came to be known.

    Args:
        kind: of the writer; "full" where no entry is unknown.
        curve: makes log-odds of scores.
        bias: [K] shifts of the classes.
        positive, negative: chances of "entries" to become known.
        sizes: [U + 1] of "tags": chances that u tags are written at most, u = 0, 1, ...; the last
            is that of writing all.
        alike: log-odds that a sure tag loses because it may be the written one, seen twice.
        cost: negative log-likelihood of the labels.
    """

    kind: Kind
    curve: Curve
    bias: Floats
    positive: float = 1.0
    negative: float = 1.0
    sizes: Floats | None = None
    alike: float = 0.0
    cost: float = 0.0

    def logits(self, scores: npt.ArrayLike) -> Floats:
        """[N, K] log-odds of presence by the image alone."""
        values = torch.from_numpy(np.array(scores, dtype=np.float64))
        return np.asarray(self.curve(values).numpy() + self.bias)

    def alone(self, scores: npt.ArrayLike) -> Floats:
        """[N, K] probability by the image alone, not misled by wrong tags.

        Wrong tags have low scores and flatten the curve there; it falls as it does above.
        """
        slopes = self.curve.slopes.clone()
        slopes[0] = slopes[:2].max()
        return sigmoid(replace(self, curve=self.curve._replace(slopes=slopes)).logits(scores))

    def posterior(self, scores: npt.ArrayLike, labels: npt.ArrayLike) -> Floats:
        """[N, K] that a tag is there, given the image and what is known; known entries as known."""
        given, states = checked(scores, labels)
        found = np.empty(states.shape)
        step = max(1, ROWS // states.shape[1])
        for start in range(0, len(states), step):
            part = slice(start, start + step)
            observed = torch.from_numpy(np.array(states[part], dtype=np.int8))
            logits = torch.from_numpy(self.logits(given[part]))
            found[part] = posterior(logits, observed, self._writer(observed)).numpy()
        return np.where(states == UNKNOWN, self._doubted(found), found)

    def _doubted(self, probability: Floats) -> Floats:
        """Tags are not quite independent: what looks like a second tag may be the first."""
        if not self.alike:
            return probability
        odds = probability / np.maximum(1 - probability, _TINY)
        odds *= np.exp(-self.alike * probability)
        return (1 - NEVER) * odds / (1 + odds)

    def _writer(self, observed: Tensor) -> Writer:
        if self.sizes is None:
            unwritten = (1 - self.positive) / max(1 - self.negative, _TINY)
            t = torch.full((len(observed), 1), unwritten, dtype=torch.float64)
            return Writer(t, torch.zeros_like(t))
        return _writer_of_tags(observed, torch.from_numpy(self.sizes).clamp_min(_TINY).log())


@dataclass(frozen=True, eq=False)
class Presence:
    """What is known and believed about the tags of some images.

    Args:
        how: the labels came to be known.
        probability: [N, K] that a tag is there; known entries as known.
        labels: [N, K] of 1, 0, -1.
    """

    how: Written
    probability: Floats
    labels: Labels

    @cached_property
    def prior(self) -> Floats:
        """[K] share of the images that have each tag."""
        mean: Floats = self.probability.mean(axis=0)
        return mean

    @property
    def expected_positives(self) -> float:
        """The mean number of tags of an image."""
        return float(self.prior.sum())

    @property
    def share_written(self) -> float:
        """The share of the tags that are there that are known."""
        total = float(self.probability.sum())
        return float((self.labels == POSITIVE).sum()) / total if total else 1.0

    @property
    def sentence(self) -> str:
        """For the user."""
        if self.how.kind == "full":
            return "every label is known"
        return f"about {self.share_written:.0%} of the tags that are there are known"

    def as_dict(self) -> dict[str, Any]:
        """The answer in a few numbers."""
        return {
            "writer": self.how.kind,
            "share_written": self.share_written,
            "expected_positives": self.expected_positives,
        }


def presence(scores: npt.ArrayLike, labels: npt.ArrayLike) -> Presence:
    """Probabilities of all tags, from scores of images that had no part in the scores."""
    how = how_written(scores, labels)
    return Presence(how, how.posterior(scores, labels), np.asarray(labels, dtype=np.int8))


def presence_by_features(
    features: Matrix, labels: Labels, *, folds: int = FOLDS, seed: int = 0
) -> Presence:
    """Probabilities of all tags, by linear heads on features that have not seen the image.

    Args:
        features: [N, D].
        labels: [N, K] of 1, 0, -1.
        folds: heads; each scores the images it was not fitted to.
        seed: of the folds.
    """
    choice = likely_choice(features, labels, seed)
    return presence(out_of_fold(features, labels, choice, folds=folds, seed=seed), labels)


def likely_choice(features: Matrix, labels: Labels, seed: int = 0) -> Choice:
    """How to fit linear heads whose scores are to become probabilities.

    Smoothing helps heads to rank and bends what their scores mean; so there is less of it.
    """
    observed = torch.from_numpy(np.array(labels, dtype=np.int8))
    if not bool((observed == POSITIVE).any()):
        raise TagfillError(
            "cannot learn: no observed label is positive",
            remedy="check the label file with `tagfill inspect`",
        )
    writers = candidates(observed, Choice())
    if _untagged(labels) > UNTAGGED:  # a writer of "some" tags has nothing to say of these images
        writers = [choice for choice in writers if choice.writer == "each"]
    choice, _ = choose(features, observed, open_=writers, seed=seed)
    return replace(choice, smoothing=SMOOTHING)


def how_written(scores: npt.ArrayLike, labels: npt.ArrayLike) -> Written:
    """The writer and the curve under which labels are likeliest.

    Args:
        scores: [N, K] logits of images by models that have not seen them.
        labels: [N, K] of 1, 0, -1.

    Raises:
        TagfillError: no entry is known to be positive.
    """
    given, states = checked(scores, labels)
    if not (states == POSITIVE).any():
        raise TagfillError("nothing can be fitted to labels without a positive")
    sample = slice(None, None, max(1, -(-states.size // SAMPLE)))
    some, known = given[sample].astype(np.float64), states[sample]
    if not (known == POSITIVE).any():
        some, known = given.astype(np.float64), states
    fit = _Fit(some, known)
    if not (states == UNKNOWN).any():
        return replace(fit.of_entries(), kind="full", positive=1.0, negative=1.0)
    written, entries = fit.of_tags(), fit.of_entries()
    margin = CLEARLY * len(known) if _untagged(known) > UNTAGGED else 0.0
    if entries.cost < written.cost + margin:
        return entries
    tags = float(written.posterior(some, known).sum(axis=1).mean())
    return replace(written, alike=ALIKE / max(tags, 1.0))


def _untagged(labels: Labels) -> float:
    """Share of images without a known positive."""
    return float(1 - (labels == POSITIVE).any(axis=1).mean())


def _writer_of_tags(observed: Tensor, log_sizes: Tensor) -> Writer:
    """The nodes of "any n of those that are there", and one more, t = 0: all were written."""
    base = some_written(observed)
    last = len(log_sizes) - 1
    n = (observed == 1).sum(1).clamp_max(last)
    above = torch.logcumsumexp(log_sizes.flip(0), 0).flip(0)
    tail = torch.cat([above[1:], above[-1:]])
    own = torch.where(n < last, log_sizes[n], torch.full_like(log_sizes[n], np.log(_TINY)))
    weight = torch.cat([base.log_weight + own[:, None], tail[n][:, None]], 1)
    nodes = torch.cat([base.unwritten, torch.zeros_like(base.unwritten[:, :1])], 1)
    return Writer(nodes, weight)


class _Fit:
    """Maximum likelihood of curve and writer on one set of labels."""

    def __init__(self, scores: Floats, labels: Labels) -> None:
        spread = float(scores.std())
        self.spread = spread if spread > _TINY else 1.0
        self.inputs = torch.from_numpy(scores)
        self.knots = torch.from_numpy(np.quantile(scores[labels == POSITIVE], KNOTS))
        self.observed = torch.from_numpy(np.array(labels, dtype=np.int8))
        self.positives = (self.observed == POSITIVE).sum(1)
        self.counts = {
            state: int((self.observed == state).sum()) for state in (POSITIVE, NEGATIVE, UNKNOWN)
        }

    def of_entries(self) -> Written:
        """Each entry with a chance of its own kind; images without a tag speak too."""
        free = int(self.counts[UNKNOWN] > 0) * (1 + int(self.counts[NEGATIVE] > 0))

        def cost(logits: Tensor, writer: Tensor) -> Tensor:
            c, d = _chances(writer)
            known = self._known(logits)
            known = known + self.counts[POSITIVE] * c.log() + self.counts[NEGATIVE] * d.log()
            p, absent = torch.sigmoid(logits), torch.sigmoid(-logits)
            if free:
                unknown = torch.log(((1 - c) * p + (1 - d) * absent).clamp_min(_TINY))
                known = known + unknown[self.observed < 0].sum()
            return -known

        fitted, writer, value = self._minimize(cost, np.zeros(free))
        c, d = (float(chance) for chance in _chances(torch.from_numpy(writer)))
        return Written("entries", *fitted, positive=c, negative=d if free != 1 else 0.0, cost=value)

    def of_tags(self) -> Written:
        """So many of the tags that are there; images without a tag do not speak."""
        rows = self.positives > 0
        observed, last = self.observed[rows], int(self.positives.max()) + 1
        base = _writer_of_tags(observed, torch.zeros(last + 1, dtype=torch.float64))

        def cost(logits: Tensor, writer: Tensor) -> Tensor:
            log_sizes = F.log_softmax(torch.cat([torch.full((1,), -50.0), writer]).double(), 0)
            weight = _writer_of_tags(observed, log_sizes).log_weight
            some = logits[rows]
            p, absent = torch.sigmoid(some), torch.sigmoid(-some)
            unknown = observed < 0
            sums = [
                torch.log(torch.addcmul(absent, p, t[:, None]).clamp_min(_TINY))
                .masked_fill(~unknown, 0)
                .sum(1)
                for t in base.unwritten.T
            ]
            value = torch.logsumexp(torch.stack(sums, 1) + weight, 1)
            value = value - (1 - TOLD) * _some(F.logsigmoid(-some).sum(1))
            return -(value.sum() + self._known(logits, rows))

        fitted, writer, value = self._minimize(cost, np.zeros(last))
        sizes = np.concatenate([[0.0], np.exp(writer - writer.max())])
        value += _even(int(rows.sum()), int((~rows).sum()))
        if self.counts[NEGATIVE]:
            value += _even(self.counts[NEGATIVE], self.counts[UNKNOWN])
        return Written("tags", *fitted, sizes=sizes / sizes.sum(), cost=value)

    def _known(self, logits: Tensor, rows: Tensor | slice = slice(None)) -> Tensor:
        """Log-likelihood of what is known, whoever let it be known."""
        logits, observed = logits[rows], self.observed[rows]
        signed = torch.where(observed == POSITIVE, logits, -logits)
        return F.logsigmoid(signed).masked_fill(observed < 0, 0).sum()

    def _minimize(
        self, cost: Callable[[Tensor, Tensor], Tensor], writer: Floats
    ) -> tuple[tuple[Curve, Floats], Floats, float]:
        """Curve and biases, the writer's parameters, and the cost."""
        classes, images, pieces = self.inputs.shape[1], len(self.inputs), len(KNOTS) + 1
        sizes = [pieces, 1, classes, len(writer)]

        def objective(parameters: Floats) -> tuple[float, Floats]:
            values = torch.from_numpy(parameters).requires_grad_()
            slopes, shift, shifts, chances = values.split(sizes)
            logits = Curve(self.knots, slopes.exp())(self.inputs) + shift + shifts
            total = cost(logits, chances) + SHRINK / 2 * shifts.square().sum()
            total = total + SMOOTH / 2 * slopes.diff().square().sum()
            (gradient,) = torch.autograd.grad(total / images, values)
            return float(total.detach()) / images, gradient.numpy()

        typical = -float(np.log(self.spread))
        first = np.concatenate([np.full(pieces, typical), np.zeros(1 + classes), writer])
        bounds = [
            *[(typical - _SLOPE, typical + _SLOPE)] * pieces,
            *[(-_SHIFT, _SHIFT)] * (1 + classes),
            *[(-_ODDS, _ODDS)] * len(writer),
        ]
        found = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds)
        slopes, shift, shifts, chances = np.split(found.x, np.cumsum(sizes)[:-1])
        curve = Curve(self.knots, torch.from_numpy(np.exp(slopes)))
        return (curve, shift + shifts), chances, float(found.fun) * images


def _chances(odds: Tensor) -> tuple[Tensor, Tensor]:
    """Of positives and negatives; what is not free is certain."""
    chance = torch.cat([torch.sigmoid(odds), torch.ones(2, dtype=odds.dtype)])
    if len(odds) == 1:
        return chance[0], torch.zeros((), dtype=odds.dtype).clamp_min(_TINY)
    return chance[0], chance[1]


def _some(log_none: Tensor) -> Tensor:
    """log(1 - exp(x)): that there is at least one."""
    return torch.log(-torch.expm1(log_none.clamp_max(-1e-9)))


def _even(taken: int, left: int) -> float:
    """Least cost of choosing some out of all with one chance."""
    size = taken + left
    return -sum(count * float(np.log(count / size)) for count in (taken, left) if count)
