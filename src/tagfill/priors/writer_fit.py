"""Maximum likelihood of the writer of labels and of the curve that makes log-odds of scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import minimize
from torch import Tensor

from tagfill.evaluate.arrays import Floats
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels
from tagfill.priors.writer import TINY, Curve, Written, writer_of_tags

KNOTS = (0.1, 0.4, 0.7)
"""Shares of the known positives below which the curve has its bends."""
SMOOTH = 10.0
"""Strength of the prior that keeps neighboring pieces of the curve at about one slope."""
TOLD, TOLD_IMAGES = 0.01, 5.0
"""Weight of the evidence that every image has a tag: this share of all images and so many more.
Without any, faint scores are explained best by images that all have exactly one."""
SHRINK = 10.0
"""Strength of the prior that holds a class's shift near that of all classes."""
EVIDENCE = 5.0
"""Log-likelihood that different chances of positives and negatives must gain over one."""
_SLOPE, _SHIFT, _ODDS = 3.0, 12.0, 12.0
"""Bounds on |log slope|, on the shift of the logit and on log-odds of chances."""


class WriterFit:
    """Maximum likelihood of curve and writer on one set of labels."""

    def __init__(self, scores: Floats, labels: Labels) -> None:
        spread = float(scores.std())
        self.spread = spread if spread > TINY else 1.0
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
                unknown = torch.log(((1 - c) * p + (1 - d) * absent).clamp_min(TINY))
                known = known + unknown[self.observed < 0].sum()
            return -known

        fitted, writer, value = self._minimize(cost, np.zeros(free))
        c, d = (float(chance) for chance in _chances(torch.from_numpy(writer)))
        if free == 2:
            even = self._at_random()
            if even.cost < value + EVIDENCE:
                return even
        return Written("entries", *fitted, positive=c, negative=d if free != 1 else 0.0, cost=value)

    def _at_random(self) -> Written:
        """One chance for positives and negatives: unknown entries say nothing."""
        fitted, _, value = self._minimize(lambda logits, _: -self._known(logits), np.zeros(0))
        known = self.counts[POSITIVE] + self.counts[NEGATIVE]
        value += _even(known, self.counts[UNKNOWN])
        share = known / self.observed.numel()
        return Written("entries", *fitted, positive=share, negative=share, cost=value)

    def of_tags(self) -> Written:
        """So many of the tags that are there; images without a tag do not speak."""
        rows = self.positives > 0
        observed, last = self.observed[rows], int(self.positives.max()) + 1
        told = min(1.0, TOLD + TOLD_IMAGES / len(observed))
        base = writer_of_tags(observed, torch.zeros(last + 1, dtype=torch.float64))

        def cost(logits: Tensor, writer: Tensor) -> Tensor:
            log_sizes = F.log_softmax(torch.cat([torch.full((1,), -50.0), writer]).double(), 0)
            weight = writer_of_tags(observed, log_sizes).log_weight
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
            value = value - (1 - told) * _some(F.logsigmoid(-some).sum(1))
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
        optimum = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds)
        slopes, shift, shifts, chances = np.split(optimum.x, np.cumsum(sizes)[:-1])
        curve = Curve(self.knots, torch.from_numpy(np.exp(slopes)))
        return (curve, shift + shifts), chances, float(optimum.fun) * images


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
