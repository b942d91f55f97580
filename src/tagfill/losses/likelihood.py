"""The likelihood of written tags: how incomplete labels came to be, as a probability.

The head says p_j = sigmoid(g_j) of each tag, the tags of an image are independent given the image,
and somebody wrote some of them. Let t be the probability that a tag that is present stays
unwritten. Then an image has

    P(labels | x) = prod_{yes} p * prod_{no} (1 - p) * E_t[ prod_{unknown} (1 - p + p t) ]

and the ways in which people write tags differ only in the distribution of t:

- any n of the present tags, all choices equally likely: with R others that has probability
  1 / C(n + R, n) = n * integral_0^1 t^R (1 - t)^(n - 1) dt, so t has the weight n (1 - t)^(n - 1);
- each with the same chance c: t = 1 - c;
- entries are known at random, whatever they hold: t = 1, unknown entries say nothing;
- whoever wrote tags wrote all of them: t = 0, unknown is absent.

A tag that a review added after the writing counts p t, which is a factor t^(reviewed yes) more. The
weights are Gauss-Jacobi rules, exact for up to 16 unknown entries and close for any number.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from scipy.special import betaln, roots_jacobi
from torch import Tensor

from tagfill.arrays import Floats
from tagfill.losses.terms import single

NODES = 8
"""Points of the quadrature over t."""
_TOGETHER = 256_000
"""Chances of entries handled at a time, as the processor's own memory holds."""


class Writer(NamedTuple):
    """How the tags of each image were written: a discrete distribution of t.

    Args:
        unwritten: [N, Q] values of t, the probability that a present tag stays unwritten.
        log_weight: [N, Q] logarithms of their weights.
    """

    unwritten: Tensor
    log_weight: Tensor

    def rows(self, index: Tensor | slice) -> Writer:
        """The writer of some of the images."""
        return Writer(self.unwritten[index], self.log_weight[index])


def some_written(observed: Tensor, written: Tensor | None = None) -> Writer:
    """Any n of the present tags were written, all choices equally likely.

    Images without a written tag say nothing about their unknown entries.

    Args:
        written: [N] how many of the ones were written, the others were confirmed by a review;
            by default all of them. Which ones does not matter.
    """
    positives = number_positive(observed).cpu().numpy()
    counts = positives if written is None else np.minimum(written.cpu().numpy(), positives)
    base = int(positives.max(initial=0)) + 1
    pairs, place = np.unique(counts * base + positives - counts, return_inverse=True)
    rules = np.array([_rule(*divmod(int(pair), base)) for pair in pairs]).reshape(-1, 2, NODES)
    rows = torch.from_numpy(rules[place]).to(observed.device)
    return Writer(rows[:, 0], rows[:, 1])


def number_positive(observed: Tensor) -> Tensor:
    """[N] how many ones an image has; torch would first make 64-bit numbers of all entries."""
    counts = np.count_nonzero(observed.cpu().numpy() == 1, axis=1)
    return torch.from_numpy(counts).to(observed.device)


def each_written(observed: Tensor, share: float) -> Writer:
    """Every present tag was written with the same probability ``share``, independently.

    0 means that entries are known at random, 1 that unknown tags are absent.
    """
    t = torch.full((len(observed), 1), 1.0 - share, dtype=torch.float64, device=observed.device)
    return Writer(t, torch.zeros_like(t))


def written_tags_nll(logits: Tensor, observed: Tensor, writer: Writer) -> Tensor:
    """-log P(labels | x) of each image, constants of the writer's own chances left out.

    Args:
        writer: of these N images.

    Returns:
        [N] terms. The gradient is in closed form: memory is N K, however many nodes there are.
    """
    value: Tensor = _Likelihood.apply(single(logits), observed, *writer)  # type: ignore[no-untyped-call]
    return value


def value_and_gradient(logits: Tensor, observed: Tensor, writer: Writer) -> tuple[Tensor, Tensor]:
    """[N] terms of ``written_tags_nll`` and [N, K] their derivatives by the logits."""
    step = max(1, _TOGETHER // max(1, logits.shape[1] * writer.unwritten.shape[1]))
    if len(logits) <= step:
        return _value_and_gradient(logits, observed, writer)
    value, gradient = logits.new_empty(len(logits)), torch.empty_like(logits)
    for start in range(0, len(logits), step):
        rows = slice(start, start + step)
        value[rows], gradient[rows] = _value_and_gradient(
            logits[rows], observed[rows], writer.rows(rows)
        )
    return value, gradient


def _value_and_gradient(logits: Tensor, observed: Tensor, writer: Writer) -> tuple[Tensor, Tensor]:
    positive, unknown = observed == 1, observed < 0
    cost = F.softplus(torch.where(positive, -logits, logits)).masked_fill_(unknown, 0)
    p, absent = torch.sigmoid(logits), torch.sigmoid(-logits)
    chances, t = _unseen(p, absent, unknown, writer), writer.unwritten.to(p).T
    weight, total = _given_labels(chances, writer)
    pull = ((weight.T * (1 - t))[..., None] / chances).sum(0)
    gradient = torch.where(unknown, pull * p * absent, p - positive.to(p))
    return cost.sum(1) - total, gradient


def posterior(logits: Tensor, observed: Tensor, writer: Writer) -> Tensor:
    """P(y = 1 | x, labels) of every entry, known ones as they are known.

    For a given t an unknown tag is there with probability p t / (1 - p + p t); t has its
    distribution given the image's labels.

    Returns:
        [N, K] probabilities.
    """
    logits = single(logits)
    p, absent = torch.sigmoid(logits), torch.sigmoid(-logits)
    chances = _unseen(p, absent, observed < 0, writer)
    weight, _ = _given_labels(chances, writer)
    share = weight.T * writer.unwritten.to(p).T
    present = p * (share[..., None] / chances).sum(0)
    return torch.where(observed < 0, present, observed.to(p))


def spread_penalty(logits: Tensor) -> Tensor:
    """softplus(g) + softplus(-g) of every entry: label smoothing without labels.

    Its minimum is at g = 0; added to a likelihood it keeps scores from running away.
    """
    return F.softplus(logits) + F.softplus(-logits)


def _given_labels(chances: Tensor, writer: Writer) -> tuple[Tensor, Tensor]:
    """[N, Q] distribution of t given the labels, and [N] log E_t[prod of unknown entries]."""
    sums = torch.log(chances).sum(2).T
    joint = sums + writer.log_weight.to(sums)
    total = torch.logsumexp(joint, 1)
    return torch.exp(joint - total[:, None]), total


def _unseen(p: Tensor, absent: Tensor, unknown: Tensor, writer: Writer) -> Tensor:
    """[Q, N, K] for each t: 1 - p + p t, the chance that an entry is unknown; 1 where known."""
    there, rest = p.masked_fill(~unknown, 0), absent.masked_fill(~unknown, 1)
    t = writer.unwritten.to(p).T[..., None]
    return torch.addcmul(rest, there, t).clamp_min_(torch.finfo(p.dtype).tiny)


class _Likelihood(torch.autograd.Function):
    """``value_and_gradient`` as a differentiable function."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, observed: Tensor, unwritten: Tensor, log_weight: Tensor
    ) -> Tensor:
        """[N] terms."""
        value, gradient = value_and_gradient(logits, observed, Writer(unwritten, log_weight))
        ctx.save_for_backward(gradient)
        return value

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Through the logits only."""
        (gradient,) = ctx.saved_tensors
        return grads[0][:, None] * gradient, None, None, None


@lru_cache(maxsize=4096)
def _rule(written: int, confirmed: int) -> Floats:
    """[2, Q] nodes t and log weights of n (1 - t)^(n - 1) t^confirmed dt on 0..1."""
    if written == 0:
        return np.stack([np.ones(NODES), np.full(NODES, -np.log(NODES))])
    nodes, weights = roots_jacobi(NODES, written - 1, confirmed)
    scale = np.log(written) + betaln(written, confirmed + 1) - np.log(weights.sum())
    return np.stack([(1 + nodes) / 2, np.log(weights) + scale])
