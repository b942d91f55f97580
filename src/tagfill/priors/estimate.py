"""k and class priors from observed labels, features or scores, and a few complete images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tagfill.errors import TagfillError
from tagfill.labels.regime import Regime
from tagfill.labels.table import POSITIVE, UNKNOWN, Labels
from tagfill.priors.estimators import (
    ONE_SIDED,
    count_known,
    labeled_share,
    observed_rate,
    scaled,
    single_positive_prior,
)
from tagfill.priors.linear import Features, OutOfFold, out_of_fold_scores
from tagfill.priors.regime import complete_rows, regime_of

Array = npt.NDArray[np.float64]

SPREAD: dict[Regime, float] = {
    Regime.SINGLE_POSITIVE: 0.1,
    Regime.POSITIVE_ONLY: 0.08,
    Regime.REVIEWED: 0.25,
}
"""Standard deviation of log k of the estimates from scores, as measured (docs/priors.md)."""
RESAMPLES = 10_000


@dataclass(frozen=True)
class PriorEstimate:
    """What was estimated, and from what.

    Args:
        prior: [K] share of images with each tag.
        expected_positives: k, the mean number of tags of an image; the sum of ``prior``.
        interval: 5th and 95th percentile of k.
        how: one sentence for the user.
    """

    prior: Array
    expected_positives: float
    interval: tuple[float, float]
    how: str


def estimate_prior(
    observed: npt.ArrayLike,
    *,
    features: Features | None = None,
    scores: npt.ArrayLike | None = None,
    complete: npt.ArrayLike | None = None,
    proportion: float | None = None,
    regime: Regime | None = None,
    seed: int = 0,
) -> PriorEstimate:
    """Estimate the number of positives per image and the share of every class.

    Full labels are counted. Where entries are known at random, positives are counted among them.
    Positives alone do not say how many are missing: there a linear model on ``features`` (or
    ``scores``) finds entries that are surely positive, and how many of these are observed tells how
    many positives are. Images of ``observed`` without an unknown entry count as ``complete``. After
    a review of likely tags the surest entries are all observed, which makes k seem smaller than it
    is: there complete images, if there are any, are all that counts.

    Args:
        observed: [N, K] labels 1, 0, -1.
        features: [N, D], for labels with positives only.
        scores: [N, K] probabilities that an entry is an observed positive, from a model that has
            not seen the image; instead of features.
        complete: [M, K] labels 0 and 1 of images labeled in full.
        proportion: the share of positives that are observed, where it is known.
        regime: what the labels are, instead of inferring it from their pattern.
        seed: of the folds.

    Raises:
        TagfillError: there are only positives, and nothing to go by beside them.
    """
    labels = _checked(observed)
    regime = regime or regime_of(labels)
    if regime in (Regime.FULL, Regime.PARTIAL):
        return _counted(labels, regime)
    full = complete_rows(labels)
    whole, partial = [labels[full]], labels[~full]
    if complete is not None:
        whole.append(_checked_complete(complete, labels.shape[1]))
    few = np.concatenate(whole)
    if regime == Regime.REVIEWED and len(few):
        return _from_complete(few, observed_rate(partial))
    if proportion is not None:
        guess = _known_share(partial, proportion)
    elif features is not None or scores is not None:
        folds = _scored(labels, ~full, features, scores, seed)
        guess = _from_scores(labels[folds.rows], folds.logits, regime)
    elif len(few):
        return _from_complete(few, observed_rate(partial))
    else:
        raise _nothing_to_go_by()
    return with_complete(guess, few) if len(few) else guess


def _checked(observed: npt.ArrayLike) -> Labels:
    labels = np.asarray(observed)
    if labels.ndim != 2 or not labels.size:
        raise TagfillError(f"class priors need labels [images, classes], got {labels.shape}")
    return labels.astype(np.int8)


def _checked_complete(complete: npt.ArrayLike, classes: int) -> Labels:
    labels = _checked(complete)
    if labels.shape[1] != classes or (labels == UNKNOWN).any():
        raise TagfillError(
            f"complete images must have a 0 or 1 for each of the {classes} classes",
            remedy="leave out images with unknown labels",
        )
    return labels


def _nothing_to_go_by() -> TagfillError:
    return TagfillError(
        "positive labels alone do not say how many tags an image has",
        remedy="give k, a few images labeled in full, or features to estimate it from",
    )


def _scored(
    labels: Labels,
    partial: npt.NDArray[np.bool_],
    features: Features | None,
    scores: npt.ArrayLike | None,
    seed: int,
) -> OutOfFold:
    """Scores of incomplete images, or of a sample of them."""
    positive = labels == POSITIVE
    if not positive[partial].any():
        raise TagfillError(
            "class priors cannot be estimated: no observed label is positive",
            remedy="check the label file with `tagfill inspect`",
        )
    rows = np.flatnonzero(partial)
    given = features if scores is None else np.asarray(scores)
    assert given is not None
    if len(given) != len(labels):
        raise TagfillError(f"{len(given)} rows of features or scores for {len(labels)} images")
    if not np.isfinite(given[rows]).all():
        raise TagfillError(
            "class priors cannot be estimated: some features are not finite numbers",
            remedy="make the features again",
        )
    if scores is None:
        found = out_of_fold_scores(given[rows], positive[rows], seed=seed)
        return OutOfFold(rows[found.rows], found.logits)
    odds = np.clip(given[rows].astype(np.float64), 1e-12, 1 - 1e-12)
    return OutOfFold(rows, np.log(odds) - np.log1p(-odds))


def _from_scores(observed: Labels, logits: Array, regime: Regime) -> PriorEstimate:
    if regime == Regime.SINGLE_POSITIVE:
        prior = single_positive_prior(observed, logits)
        how = "by how often tags that are surely there are the one that was written"
    else:
        share = labeled_share(observed, logits)
        prior = np.minimum(observed_rate(observed) / share, 1.0)
        how = f"about {share:.0%} of the positives seem to be observed, by the surest entries"
    return _with_spread(prior, SPREAD[regime], how)


def _known_share(observed: Labels, proportion: float) -> PriorEstimate:
    if not 0 < proportion <= 1:
        raise TagfillError(f"a share of observed positives of {proportion:g} is not in 0 to 1")
    positives = (observed == POSITIVE).sum(axis=1) / proportion
    spread = positives.std() / max(positives.mean(), 1e-12) / np.sqrt(len(observed))
    prior = np.minimum(observed_rate(observed) / proportion, 1.0)
    return _with_spread(prior, float(spread), f"{proportion:.0%} of the positives are observed")


def _with_spread(prior: Array, spread: float, how: str) -> PriorEstimate:
    k, factor = float(prior.sum()), float(np.exp(ONE_SIDED * spread))
    return PriorEstimate(prior, k, (k / factor, min(k * factor, float(len(prior)))), how)


def _counted(observed: Labels, regime: Regime) -> PriorEstimate:
    prior = count_known(observed)
    known = observed != UNKNOWN
    per_class = known.mean(axis=0)
    excess = np.where(known, (observed == POSITIVE) - prior, 0.0) / np.maximum(per_class, 1e-12)
    error = ONE_SIDED * float(excess.sum(axis=1).std()) / np.sqrt(len(observed))
    k = float(prior.sum())
    how = "counted" if regime == Regime.FULL else "counted among the known labels"
    return PriorEstimate(prior, k, (max(k - error, 0.0), k + error), how)


def _from_complete(complete: Labels, rate: Array) -> PriorEstimate:
    """The count of complete images, spread over classes as the observed positives are."""
    counts = complete.sum(axis=1)
    k, means = float(counts.mean()), _bootstrap(counts)
    shares = rate / rate.sum() if rate.sum() > 0 else np.full(len(rate), 1 / len(rate))
    low, high = np.percentile(means, (5, 95))
    how = f"counted in {len(complete)} images labeled in full"
    return PriorEstimate(scaled(shares, k), k, (float(low), float(high)), how)


def _bootstrap(counts: npt.NDArray[np.int_]) -> Array:
    """Means of resampled counts: the interval of Cole et al. 2021, supplement B."""
    draw = np.random.default_rng([len(counts), 11])
    means: Array = draw.choice(counts, (RESAMPLES, len(counts))).mean(axis=1)
    return means


def with_complete(guess: PriorEstimate, complete: Labels) -> PriorEstimate:
    """Weigh an estimate and the count of complete images [M, K] by their precision in log k."""
    counts = complete.sum(axis=1)
    mean = max(float(counts.mean()), 0.5 / len(counts))
    spread = np.log(guess.expected_positives / guess.interval[0]) / ONE_SIDED
    own = max(float(_bootstrap(counts).std()) / mean, 0.25 / np.sqrt(len(counts)))
    weights = np.array([max(spread, 1e-3), own]) ** -2
    logs = np.log([guess.expected_positives, mean])
    k = float(np.exp((weights * logs).sum() / weights.sum()))
    prior = scaled(guess.prior, min(k, float(len(guess.prior))))
    how = f"{guess.how}; and {len(complete)} images labeled in full"
    return _with_spread(prior, float(weights.sum() ** -0.5), how)
