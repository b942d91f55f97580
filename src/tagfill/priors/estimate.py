"""k and class priors from observed labels, features or scores, and a few complete images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tagfill.arrays import Floats, Mask, Matrix
from tagfill.errors import TagfillError
from tagfill.labels.stats import Regime
from tagfill.labels.table import POSITIVE, UNKNOWN, Labels
from tagfill.priors.estimators import ONE_SIDED, count_known, observed_rate, scaled
from tagfill.priors.regime import complete_rows, regime_of
from tagfill.priors.written import Presence, presence, presence_by_features

SPREAD = 0.1
"""Standard deviation of log k of the estimates from scores, as measured (docs/priors.md)."""
RESAMPLES = 10_000
ENTRIES = 2_000_000
"""Labels a fit may take; of more images, some at regular steps."""


@dataclass(frozen=True)
class PriorEstimate:
    """An estimate and its source.

    Args:
        prior: [K] share of images with each tag.
        expected_positives: k, the mean number of tags of an image; the sum of ``prior``.
        interval: 5th and 95th percentile of k.
        how: one sentence for the user.
    """

    prior: Floats
    expected_positives: float
    interval: tuple[float, float]
    how: str


def estimate_prior(
    observed: npt.ArrayLike,
    *,
    features: Matrix | None = None,
    scores: npt.ArrayLike | None = None,
    complete: npt.ArrayLike | None = None,
    seed: int = 0,
) -> PriorEstimate:
    """Estimate the number of positives per image and the share of every class.

    Full labels are counted. Where entries are known at random, positives are counted among them.
    Positives alone do not say how many are missing: there the posterior does, of a linear head on
    ``features`` or of ``scores`` (``tagfill.priors.presence``). Images of ``observed`` without an
    unknown entry count as ``complete``. After a review of likely tags complete images, if there
    are any, are all that counts.

    Args:
        observed: [N, K] labels 1, 0, -1.
        features: [N, D], for labels with positives only.
        scores: [N, K] logits from a model that has not seen the image; instead of features.
        complete: [M, K] labels 0 and 1 of images labeled in full.
        seed: of the folds.

    Raises:
        TagfillError: there are only positives, and neither features nor scores.
    """
    labels = _checked(observed)
    regime = regime_of(labels)
    if regime in (Regime.FULL, Regime.PARTIAL):
        return _counted(labels, regime)
    full = complete_rows(labels)
    whole, partial = [labels[full]], labels[~full]
    if complete is not None:
        whole.append(_checked_complete(complete, labels.shape[1]))
    few = np.concatenate(whole)
    if regime == Regime.REVIEWED and len(few):
        return _from_complete(few, observed_rate(partial))
    if len(partial) == 1:
        guess = _with_spread(observed_rate(partial), SPREAD, "counted in one image")
    elif features is not None or scores is not None:
        guess = _from_presence(_present(labels, ~full, features, scores, seed))
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


def _present(
    labels: Labels,
    partial: Mask,
    features: Matrix | None,
    scores: npt.ArrayLike | None,
    seed: int,
) -> Presence:
    """Presence of tags in incomplete images, or in a sample of them."""
    if not (labels[partial] == POSITIVE).any():
        raise TagfillError(
            "class priors cannot be estimated: no observed label is positive",
            remedy="check the label file with `tagfill inspect`",
        )
    given = features if scores is None else np.asarray(scores)
    assert given is not None
    if len(given) != len(labels):
        raise TagfillError(f"{len(given)} rows of features or scores for {len(labels)} images")
    rows = np.flatnonzero(partial)
    if scores is not None:
        return presence(given[rows], labels[rows])
    rows = rows[:: max(1, -(-len(rows) * labels.shape[1] // ENTRIES))]
    return presence_by_features(given[rows], labels[rows], seed=seed)


def _from_presence(presence: Presence) -> PriorEstimate:
    return _with_spread(presence.prior, SPREAD, presence.sentence)


def _with_spread(prior: Floats, spread: float, how: str) -> PriorEstimate:
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


def _from_complete(complete: Labels, rate: Floats) -> PriorEstimate:
    """The count of complete images, spread over classes as the observed positives are."""
    counts = complete.sum(axis=1)
    k, means = float(counts.mean()), _bootstrap(counts)
    shares = rate / rate.sum() if rate.sum() > 0 else np.full(len(rate), 1 / len(rate))
    low, high = np.percentile(means, (5, 95))
    how = f"counted in {len(complete)} images labeled in full"
    return PriorEstimate(scaled(shares, k), k, (float(low), float(high)), how)


def _bootstrap(counts: npt.NDArray[np.int_]) -> Floats:
    """Means of resampled counts: the interval of Cole et al. 2021, supplement B."""
    draw = np.random.default_rng([len(counts), 11])
    means: Floats = draw.choice(counts, (RESAMPLES, len(counts))).mean(axis=1)
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
