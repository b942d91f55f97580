"""Estimators of class priors, each from one kind of evidence."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from tagfill.labels.table import POSITIVE, UNKNOWN, Labels

Array = npt.NDArray[np.float64]

TOP_SHARE, TOP_COUNT = 0.05, 50
"""The purest entries that count as surely positive hold at least so many observed positives."""
ONE_SIDED = 1.645
"""Normal quantile of a one-sided 95 % bound."""
NODES = 12
"""Of Gauss-Legendre quadrature."""
ROUNDS = 60
"""Of substitution in ``presence``."""
SURE, FEWEST = 0.8, 30
"""Entries at least this probable are surely present; fewer written ones than this do not do."""
ENTRIES = 400_000
"""Entries ``presence`` is computed for; more are sampled."""


def count_known(observed: Labels) -> Array:
    """[K] positives among known entries: unbiased where entries are known at random.

    Classes without a known entry get the mean of the others.
    """
    known = (observed != UNKNOWN).sum(axis=0)
    positives = (observed == POSITIVE).sum(axis=0)
    share = positives / np.maximum(known, 1)
    rest = positives.sum() / max(int(known.sum()), 1)
    prior: Array = np.where(known > 0, share, rest)
    return prior


def observed_rate(observed: Labels) -> Array:
    """[K] share of images with an observed positive: what counting unknown as negative gives."""
    rate: Array = (observed == POSITIVE).mean(axis=0)
    return rate


def labeled_share(observed: Labels, logits: Array) -> float:
    """The share of positive entries that are observed, where it is the same for all of them.

    Among entries surely positive, the share observed is that share. The entries of all classes are
    ordered by score; of all cuts that leave enough observed positives above, the one with the
    highest lower confidence bound of the share is taken. Top-bin estimation after Garg et al. 2021
    (BBE), here over all classes at once.
    """
    order = np.argsort(-logits, axis=None, kind="stable")
    hits = np.cumsum((observed == POSITIVE).ravel()[order])
    if not len(hits) or hits[-1] == 0:
        return 1.0
    entries = np.arange(1, len(hits) + 1)
    enough = hits >= min(max(TOP_COUNT, TOP_SHARE * hits[-1]), hits[-1])
    share = hits[enough] / entries[enough]
    bound = share - ONE_SIDED * np.sqrt(share * (1 - share) / entries[enough])
    return float(share[bound.argmax()])


def presence(written: Array) -> Array:
    """Probability of each tag, from the probability that it is the one tag that was written.

    If one of an image's tags is written, each with the same chance, and tags are independent given
    the image, then q_c = p_c E[1 / (1 + number of other tags)]. Solved for p by substitution from
    p = q, which rises to the least solution.

    Args:
        written: [N, K] q, out-of-fold.

    Returns:
        [N, K] p.
    """
    probability = written
    for _ in range(ROUNDS):
        probability = np.minimum(written / chance_of_writing(probability), 1.0)
    return probability


def chance_of_writing(probability: Array) -> Array:
    """[N, K] E[1 / (1 + number of other tags)].

    That is the integral over t from 0 to 1 of the product over the other tags of 1 - p_j + p_j t.
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    chance = np.zeros_like(probability)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        logs = np.log1p(-probability * (1 - node))
        chance += weight * np.exp(logs.sum(axis=1, keepdims=True) - logs)
    return chance


def single_positive_prior(observed: Labels, logits: Array) -> Array:
    """[K] prior from one written tag per image.

    Entries surely present by ``presence`` stand for all positive entries: of n such entries with m
    written, k is n / m. Where too few are sure, ``labeled_share`` decides. ``presence`` itself,
    scaled to k, gives the classes their shares.
    """
    step = max(1, -(-logits.size // ENTRIES))
    positive, probability = observed[::step] == POSITIVE, presence(expit(logits[::step]))
    sure = probability >= SURE
    written = int(positive[sure].sum())
    share = written / sure.sum() if written >= FEWEST else labeled_share(observed, logits)
    images_with_tags = float((observed == POSITIVE).any(axis=1).mean())
    return scaled(probability.mean(axis=0), images_with_tags / share)


def scaled(prior: Array, k: float) -> Array:
    """The prior multiplied so that it sums to k, no class above 1."""
    result = np.maximum(prior, 1e-12)
    for _ in range(50):
        free = result < 1
        room = k - float((~free).sum())
        if not free.any() or room <= 0 or abs(result.sum() - k) < 1e-9:
            break
        result = np.where(free, np.minimum(result * room / result[free].sum(), 1.0), 1.0)
    return result


def elkan_noto(observed: Labels, logits: Array) -> Array:
    """[K] observed rate over the mean score of observed positives (Elkan and Noto 2008)."""
    positive = observed == POSITIVE
    propensity = (expit(logits) * positive).sum(axis=0) / np.maximum(positive.sum(axis=0), 1)
    prior: Array = np.minimum(positive.mean(axis=0) / np.maximum(propensity, 1e-6), 1.0)
    return prior


def best_bin(observed: Labels, logits: Array, confidence: float = 0.1) -> Array:
    """[K] least ratio of all entries to observed positives above a cut (Garg et al. 2021, BBE)."""
    return np.array(
        [
            _best_bin(column, mask, confidence)
            for column, mask in zip(logits.T, (observed == POSITIVE).T, strict=True)
        ]
    )


def _best_bin(scores: Array, positive: npt.NDArray[np.bool_], confidence: float) -> float:
    cuts = np.sort(scores[positive])
    if len(cuts) < 2:
        return float(positive.mean())
    above_positive = 1 - np.arange(len(cuts)) / len(cuts)
    above_all = 1 - np.searchsorted(np.sort(scores), cuts) / len(scores)
    slack = np.sqrt(np.log(4 / confidence) / 2 / np.array([len(scores), len(cuts)])).sum()
    chosen = int(((above_all + slack) / above_positive).argmin())
    return float(min(above_all[chosen] / above_positive[chosen], 1.0))
