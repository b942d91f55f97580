"""Maximum likelihood of the writer of labels and of the curve that makes log-odds of scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import minimize
from torch import Tensor

from tagfill.arrays import Floats, Mask
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels
from tagfill.linear.choice import Choice, usual_number_written
from tagfill.linear.costs import RANGES, score_ranges
from tagfill.priors.writer import TINY, Curve, Written, writer_of_tags

KNOTS = (0.1, 0.4, 0.7)
"""Shares of the known positives below which the curve has its bends."""
SMOOTH = 10.0
"""Strength of the prior that keeps neighboring pieces of the curve at about one slope."""
EVIDENCE_SHARE, EVIDENCE_IMAGES = 0.01, 5.0
"""Weight of the evidence that every image has a tag: this share of all images and so many more.
Without any, faint scores are explained best by images that all have exactly one."""
USUAL_RATIO, RATIO_SPREAD = 0.5, 0.5
"""Prior where only positives are known: log of an image's tags relative to the written ones of an
image that has any. A few hundred tags hardly say how many are missing."""
GROWTH, ONE_SLOPE, SLOPE_SPREAD = 0.4, 3.0, 0.15
"""Prior there against a curve that is steeper than usual: (tags a class / 3) ** 0.4 for scores of
standard deviation one. The more tags were learned from, the more scores tell: in 84 draws of scenes
and of VOC in four forms (150 to 2,400 images, whole and by regions) the true slope was
(tags a class / 1.3) ** 0.27, with 0.11 as standard deviation of its logarithm. The prior lies below
that for few tags, whose probabilities are doubtful in other ways too, and above it for many.
Without both priors, small sets are explained by many sure tags, mostly unwritten."""
SHRINK = 10.0
"""Strength of the prior that holds a class's shift near that of all classes."""
EVIDENCE = 5.0
"""Log-likelihood that different chances of positives and negatives must gain over one."""
_SLOPE, _SHIFT, _ODDS = 3.0, 12.0, 12.0
"""Bounds on |log slope|, on the shift of the logit and on log-odds of chances."""


Cost = Callable[[Tensor, Tensor], Tensor]
"""Of logits [N, K] and the writer's parameters."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The minimum of a cost.

    Args:
        parameters: slopes of the curve, shift of all classes, shifts of each, the writer's.
        cost: at the minimum.
    """

    parameters: Floats
    cost: float


class WriterFit:
    """Maximum likelihood of curve and writer on one set of labels.

    Args:
        scores: [N, K] logits by models that have not seen the image.
        labels: [N, K] of 1, 0, -1.
        reviewed: [N, K] entries that a review answered, where that is recorded.
        complete: scores and labels of other images labeled in full.
        weight: of the writer's images beside those labeled in full.
    """

    def __init__(
        self,
        scores: Floats,
        labels: Labels,
        reviewed: Mask | None = None,
        complete: tuple[Floats, Labels] | None = None,
        weight: float = 1.0,
    ) -> None:
        spread = float(scores.std())
        self.spread = spread if spread > TINY else 1.0
        self.inputs = torch.from_numpy(scores)
        self.knots = torch.from_numpy(np.quantile(scores[labels == POSITIVE], KNOTS))
        self.observed = torch.from_numpy(np.array(labels, dtype=np.int8))
        self.reviewed = None if reviewed is None else torch.from_numpy(np.array(reviewed, bool))
        self.complete = None if complete is None else tuple(map(torch.from_numpy, complete))
        self.weight = weight
        self.positives = (self.observed == POSITIVE).sum(1)
        before = self.observed
        if self.reviewed is not None:
            before = before.masked_fill(self.reviewed, UNKNOWN)
        self.counts = {
            state: int((before == state).sum()) for state in (POSITIVE, NEGATIVE, UNKNOWN)
        }
        """Before the review, where that is recorded."""
        self.tagged = int((before == POSITIVE).any(1).sum())
        changed = self.observed[before != self.observed]
        self.confirmed, self.denied = (int((changed == s).sum()) for s in (POSITIVE, NEGATIVE))

    def of_entries(self) -> Written:
        """Each entry with a chance of its own kind; images without a tag count as well."""
        free = int(self.counts[UNKNOWN] > 0) * (1 + int(self.counts[NEGATIVE] > 0))

        def cost(logits: Tensor, writer: Tensor) -> Tensor:
            c, d = _chances(writer)
            known = self._known(logits)
            known = known + self.counts[POSITIVE] * c.log() + self.counts[NEGATIVE] * d.log()
            if self.confirmed or self.denied:
                known = known + self.confirmed * torch.log1p(-c.clamp_max(1 - TINY))
                known = known + self.denied * torch.log1p(-d.clamp_max(1 - TINY))
            p, absent = torch.sigmoid(logits), torch.sigmoid(-logits)
            if free:
                unknown = torch.log(((1 - c) * p + (1 - d) * absent).clamp_min(TINY))
                known = known + unknown[self.observed < 0].sum()
            return -known

        def written(optimum: Optimum) -> Written:
            curve, bias, writer = self._parts(optimum)
            c, d = (float(chance) for chance in _chances(writer))
            d = d if free != 1 else 0.0
            return Written("entries", curve, bias, positive=c, negative=d, cost=optimum.cost)

        explained = self._explained(cost, np.zeros(free), written)
        if free < 2:
            return explained
        even = self.at_random()
        if even.cost < explained.cost + EVIDENCE:
            explained = even
        if self.reviewed is not None:
            return explained
        reviewed = self._written_and_reviewed()
        better = reviewed.cost + EVIDENCE + RANGES < explained.cost
        return reviewed if better else explained

    def _written_and_reviewed(self) -> Written:
        """Each tag was written with one probability; a review then chose entries by their scores.

        With c the probability of being written and d that of being reviewed, a positive is known
        with c + (1 - c) d, a negative with d, and an entry is unknown with (1 - c p) (1 - d).
        """
        place = score_ranges(self.inputs)
        known = {state: self.observed == state for state in (POSITIVE, NEGATIVE, UNKNOWN)}

        def cost(logits: Tensor, writer: Tensor) -> Tensor:
            c, d = torch.sigmoid(writer[0]), torch.sigmoid(writer[1:])[place].clamp(TINY, 1 - TINY)
            unwritten = torch.log1p(-c * torch.sigmoid(logits)) + torch.log1p(-d)
            states = (
                torch.log(c + (1 - c) * d)[known[POSITIVE]].sum()
                + torch.log(d)[known[NEGATIVE]].sum()
                + unwritten[known[UNKNOWN]].sum()
            )
            return -(self._known(logits) + states)

        def written(optimum: Optimum) -> Written:
            curve, bias, writer = self._parts(optimum)
            c = float(torch.sigmoid(writer[0]))
            return Written("entries", curve, bias, positive=c, negative=0.0, cost=optimum.cost)

        return self._explained(cost, np.zeros(2 + RANGES), written)

    def at_random(self) -> Written:
        """One probability for positives and negatives: only known entries are informative."""
        known = self.counts[POSITIVE] + self.counts[NEGATIVE]
        share, more = known / self.observed.numel(), _even(known, self.counts[UNKNOWN])

        def written(optimum: Optimum) -> Written:
            curve, bias, _ = self._parts(optimum)
            value = optimum.cost + more
            return Written("entries", curve, bias, positive=share, negative=share, cost=value)

        return self._explained(lambda logits, _: -self._known(logits), np.zeros(0), written)

    def of_tags(self) -> Written:
        """A number of the present tags; images without a tag do not count."""
        max_written = usual_number_written(self.observed) if self.reviewed is None else 0
        written = Choice(max_written=max_written).written(self.observed, self.reviewed)
        rows = written > 0
        observed, last = self.observed[rows], int(written.max()) + 1
        evidence = min(1.0, EVIDENCE_SHARE + EVIDENCE_IMAGES / len(observed))
        base = writer_of_tags(observed, torch.zeros(last + 1, dtype=torch.float64), written[rows])

        def cost(logits: Tensor, writer: Tensor) -> Tensor:
            log_sizes = F.log_softmax(torch.cat([torch.full((1,), -50.0), writer]).double(), 0)
            weight = writer_of_tags(observed, log_sizes, written[rows]).log_weight
            some = logits[rows]
            p, absent = torch.sigmoid(some), torch.sigmoid(-some)
            unknown = observed < 0
            sums = [
                torch.log(torch.addcmul(absent, p, t[:, None]).clamp_min(TINY))
                .masked_fill(~unknown, 0)
                .sum(1)
                for t in base.unwritten.T
            ]
            value = torch.logsumexp(torch.stack(sums, 1) + weight, 1)
            value = value - (1 - evidence) * _some(F.logsigmoid(-some).sum(1))
            return -(value.sum() + self._known(logits, rows))

        more = _even(int(rows.sum()), int((~rows).sum()))
        if self.counts[NEGATIVE]:
            confirmed = 0 if self.reviewed is not None else int((self.positives - written).sum())
            more += _even(self.counts[NEGATIVE] + confirmed, self.counts[UNKNOWN])

        def explained(optimum: Optimum) -> Written:
            curve, bias, writer = self._parts(optimum)
            sizes = np.concatenate([[0.0], torch.softmax(writer, 0).numpy()])
            total = optimum.cost + more
            return Written("tags", curve, bias, sizes=sizes, max_written=max_written, cost=total)

        return self._explained(cost, np.zeros(last), explained)

    def tags_per_image(self, written: Written) -> float:
        """The mean number of tags that are there, if they were written so."""
        reviewed = None if self.reviewed is None else self.reviewed.numpy()
        chances = written.posterior(self.inputs.numpy(), self.observed.numpy(), reviewed)
        return float(chances.sum(axis=1).mean())

    def _known(self, logits: Tensor, rows: Tensor | slice = slice(None)) -> Tensor:
        """Log-likelihood of what is known, whoever let it be known."""
        return _log_likelihood(logits[rows], self.observed[rows])

    def _explained(
        self, cost: Cost, writer: Floats, written: Callable[[Optimum], Written]
    ) -> Written:
        """The likeliest curve and writer, from where to start with the writer's parameters."""
        classes, pieces = self.inputs.shape[1], len(KNOTS) + 1
        typical = np.full(pieces, -float(np.log(self.spread)))
        return written(
            self._minimize(cost, np.concatenate([typical, np.zeros(1 + classes), writer]))
        )

    def _minimize(self, cost: Cost, first: Floats) -> Optimum:
        images, pieces = len(self.inputs), len(KNOTS) + 1

        def total(parameters: Tensor, weight: float) -> Tensor:
            slopes, shift, shifts, writer = parameters.split(self._sizes(len(parameters)))
            curve = Curve(self.knots, slopes.exp())
            logits = curve(self.inputs) + shift + shifts
            value: Tensor = weight * cost(logits, writer) + SHRINK / 2 * shifts.square().sum()
            value = value + SMOOTH / 2 * slopes.diff().square().sum()
            if self.complete is not None:
                scores, labels = self.complete
                value = value - _log_likelihood(curve(scores) + shift + shifts, labels)
            return value + self._surprise(logits, slopes)

        def objective(parameters: Floats) -> tuple[float, Floats]:
            values = torch.from_numpy(parameters).requires_grad_()
            value = total(values, self.weight) / images
            (gradient,) = torch.autograd.grad(value, values)
            return float(value.detach()), gradient.numpy()

        typical = -float(np.log(self.spread))
        classes, free = self.inputs.shape[1], self._sizes(len(first))[-1]
        bounds = [
            *[(typical - _SLOPE, typical + _SLOPE)] * pieces,
            *[(-_SHIFT, _SHIFT)] * (1 + classes),
            *[(-_ODDS, _ODDS)] * free,
        ]
        optimum = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds)
        return Optimum(optimum.x, float(total(torch.from_numpy(optimum.x), 1.0)))

    def _surprise(self, logits: Tensor, slopes: Tensor) -> Tensor | float:
        """Cost of so many tags and of such a curve before anything is seen."""
        if self.counts[NEGATIVE] or not self.tagged:
            return 0.0
        written = self.counts[POSITIVE] / self.tagged
        ratio = (torch.sigmoid(logits).sum(1).mean() / written).log()
        ratio = (ratio - USUAL_RATIO) / RATIO_SPREAD
        usual = GROWTH * np.log(self.counts[POSITIVE] / logits.shape[1] / ONE_SLOPE)
        steeper = (slopes.mean() + float(np.log(self.spread) - usual)).clamp_min(0) / SLOPE_SPREAD
        return 0.5 * (ratio.square() + steeper.square())

    def _sizes(self, parameters: int) -> list[int]:
        """How many of the parameters are of which kind."""
        curve = [len(KNOTS) + 1, 1, self.inputs.shape[1]]
        return [*curve, parameters - sum(curve)]

    def _parts(self, optimum: Optimum) -> tuple[Curve, Floats, Tensor]:
        """Curve, biases of the classes, and the writer's parameters."""
        values = torch.from_numpy(optimum.parameters)
        slopes, shift, shifts, writer = values.split(self._sizes(len(values)))
        return Curve(self.knots, slopes.exp()), (shift + shifts).numpy(), writer


def _log_likelihood(logits: Tensor, labels: Tensor) -> Tensor:
    """Of what is known."""
    signed = torch.where(labels == POSITIVE, logits, -logits)
    return F.logsigmoid(signed).masked_fill(labels == UNKNOWN, 0).sum()


def _chances(odds: Tensor) -> tuple[Tensor, Tensor]:
    """Of positives and negatives; what is not free is certain."""
    chance = torch.cat([torch.sigmoid(odds), torch.ones(2, dtype=odds.dtype)])
    if len(odds) == 1:
        return chance[0], torch.zeros((), dtype=odds.dtype).clamp_min(TINY)
    return chance[0], chance[1]


def _some(log_none: Tensor) -> Tensor:
    """log(1 - exp(x)): that there is at least one."""
    return torch.log(-torch.expm1(log_none.clamp_max(-1e-9)))


def _even(taken: int, left: int) -> float:
    """Least cost of choosing some out of all with one chance."""
    size = taken + left
    return -sum(count * float(np.log(count / size)) for count in (taken, left) if count)
