"""Who wrote the labels, and what that says about the tags that are not written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagfill.arrays import Floats, Mask
from tagfill.evaluate.arrays import Scores, checked, sigmoid
from tagfill.labels.table import UNKNOWN
from tagfill.linear.choice import Choice
from tagfill.losses.likelihood import Writer, number_positive, posterior, some_written

WriterKind = Literal["full", "entries", "tags"]

ROWS = 262_144
"""Entries whose probabilities are computed at a time."""
NEVER = 0.02
"""Of writers of tags: the share of sure tags that are not there for each unit of ``lookalike``;
measured where the truth is known (docs/results/recovery.md)."""
TINY = 1e-12


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
        max_written: of "tags": an image's ones beyond so many were confirmed by a review, where
            that is not recorded; 0: none were.
        lookalike: log-odds that a sure tag loses because it may be the written one, seen twice.
        cost: negative log-likelihood of the labels.
    """

    kind: WriterKind
    curve: Curve
    bias: Floats
    positive: float = 1.0
    negative: float = 1.0
    sizes: Floats | None = None
    max_written: int = 0
    lookalike: float = 0.0
    cost: float = 0.0

    def logits(self, scores: npt.ArrayLike) -> Floats:
        """[N, K] log-odds of presence by the image alone."""
        values = torch.from_numpy(np.array(scores, dtype=np.float64))
        return np.asarray(self.curve(values).numpy() + self.bias)

    def alone(self, scores: npt.ArrayLike, out: Scores | None = None) -> Scores:
        """[N, K] probability by the image alone, not misled by wrong tags.

        Wrong tags have low scores and flatten the curve there; it falls as it does above.

        Args:
            scores: [N, K] logits.
            out: [N, K] where to put them, perhaps in less precision; may be the scores.
        """
        slopes = self.curve.slopes.clone()
        slopes[0] = slopes[:2].max()
        straight = replace(self, curve=self.curve._replace(slopes=slopes))
        given = np.asarray(scores)
        probabilities = np.empty(given.shape) if out is None else out
        for part in _blocks(given.shape):
            probabilities[part] = sigmoid(straight.logits(given[part]))
        return probabilities

    def posterior(
        self,
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        reviewed: Mask | None = None,
        out: Scores | None = None,
    ) -> Scores:
        """[N, K] that a tag is there, given the image and what is known; known entries as known.

        Args:
            scores: [N, K] logits.
            labels: [N, K] of 1, 0, -1.
            reviewed: [N, K] entries that a review answered, where that is recorded.
            out: [N, K] where to put them, perhaps in less precision.
        """
        given, states = checked(scores, labels)
        probabilities = np.empty(states.shape) if out is None else out
        for part in _blocks(states.shape):
            observed = torch.from_numpy(np.array(states[part], dtype=np.int8))
            logits = torch.from_numpy(self.logits(given[part]))
            answered = None if reviewed is None else torch.from_numpy(np.array(reviewed[part]))
            there = posterior(logits, observed, self._writer(observed, answered)).numpy()
            probabilities[part] = np.where(
                states[part] == UNKNOWN, self._without_lookalikes(there), there
            )
        return probabilities

    def _without_lookalikes(self, probability: Floats) -> Floats:
        """Tags are not quite independent: what looks like a second tag may be the first."""
        if not self.lookalike:
            return probability
        odds = probability / np.maximum(1 - probability, TINY)
        odds *= np.exp(-self.lookalike * probability)
        return (1 - NEVER * self.lookalike) * odds / (1 + odds)

    def _writer(self, observed: Tensor, reviewed: Tensor | None) -> Writer:
        if self.sizes is None:
            unwritten = (1 - self.positive) / max(1 - self.negative, TINY)
            t = torch.full((len(observed), 1), unwritten, dtype=torch.float64)
            return Writer(t, torch.zeros_like(t))
        log_sizes = torch.from_numpy(self.sizes).clamp_min(TINY).log()
        written = Choice(max_written=self.max_written).written(observed, reviewed)
        return writer_of_tags(observed, log_sizes, written)


def _blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Some rows at a time."""
    step = max(1, ROWS // max(shape[1], 1))
    return (slice(start, start + step) for start in range(0, shape[0], step))


def writer_of_tags(observed: Tensor, log_sizes: Tensor, written: Tensor) -> Writer:
    """The nodes of "any n of those that are there", and one more, t = 0: all were written.

    Args:
        observed: [N, K] labels 1, 0, -1.
        log_sizes: [U + 1] of numbers of tags to write.
        written: [N] how many of an image's ones were written; a review confirmed the others.
    """
    base = some_written(observed, written)
    last = len(log_sizes) - 1
    n = written.clamp_max(last)
    above = torch.logcumsumexp(log_sizes.flip(0), 0).flip(0)
    tail = torch.cat([above[1:], above[-1:]])
    own = torch.where(n < last, log_sizes[n], torch.full_like(log_sizes[n], np.log(TINY)))
    complete = torch.where(number_positive(observed) > written, np.log(TINY), tail[n])
    weight = torch.cat([base.log_weight + own[:, None], complete[:, None]], 1)
    nodes = torch.cat([base.unwritten, torch.zeros_like(base.unwritten[:, :1])], 1)
    return Writer(nodes, weight)
