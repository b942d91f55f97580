"""Calibration: maps from logits to probabilities, fitted on labels; and its metrics.

Missing positives would push probabilities down; so where labels are missing, the fit is given
probabilities of them (``tagfill.priors``). A fitted map is a plain dictionary that JSON can hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from tagfill.arrays import Floats, Integers
from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import Scores, checked, checked_targets, sigmoid
from tagfill.labels.table import POSITIVE, UNKNOWN, Labels

CalibrationKind = Literal["platt", "temperature", "isotonic"]
KINDS: tuple[CalibrationKind, ...] = get_args(CalibrationKind)

SHRINK = 10.0
"""Strength of the prior that pulls the map of a class toward the map of all classes."""
STEPWISE_SUPPORT = 20
"""Known positives, and known other entries, a class needs for its own stepwise map."""
SAMPLE = 1_000_000
"""Most entries to fit the line of all classes to; more are thinned at regular steps."""
_TINY = 1e-12
_STEEPEST = 8.0
"""Bound on |log| of the slope over standardized scores."""
_FARTHEST = 40.0
"""Bound on the bias."""


def fit_calibration(
    logits: npt.ArrayLike,
    targets: npt.ArrayLike,
    *,
    kind: CalibrationKind = "platt",
    shrink: float = SHRINK,
) -> dict[str, Any]:
    """Fit a map from logits to probabilities on images the model was not trained on.

    - ``temperature``: sigmoid(x / T), one T for all classes (Guo et al. 2017).
    - ``platt``: sigmoid(slope_k x + bias_k) (Platt 1999). A class's line is drawn toward the line
      fitted to all classes: slope_k = slope e^u, with a normal prior of variance 1 / shrink on u
      and on the shift of the logit, instead of Platt's smoothed targets.
    - ``isotonic``: piecewise linear through the centers of the steps of an isotonic fit, hence
      strictly increasing (Oron and Flournoy 2017); classes with few labels share one map.

    Args:
        targets: [N, K] labels 1, 0, -1, or probabilities that entries are positive
            (``tagfill.priors.presence`` has them where labels are missing); entries of -1 or NaN
            are left out.
        shrink: strength of the prior of ``platt``; 0 fits each class alone.

    Returns:
        ``kind``; ``slope`` and ``bias`` [K], or ``knots`` and ``values`` [K][any].
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    scores, chances = checked_targets(logits, targets)
    if kind not in KINDS:
        raise TagfillError(f"unknown calibration {kind!r}", remedy=f"use {', '.join(KINDS)}")
    pooled = _entries(scores, chances)
    step = max(1, -(-len(pooled.scores) // SAMPLE))
    pooled = _Entries(pooled.scores[::step], pooled.targets[::step])
    by_class = (_entries(*pair) for pair in zip(scores.T, chances.T, strict=True))
    with threadpool_limits(limits=1):  # a pool takes longer than problems of two unknowns
        if kind == "temperature":
            return _lines(kind, [_fit_line(pooled, fixed_bias=True)] * chances.shape[1])
        line = _fit_line(pooled)
        if kind == "platt":
            return _lines(kind, [_fit_near(entries, line, shrink) for entries in by_class])
        shared = _steps(pooled)
        tables = [_steps(entries) if _has_support(entries) else shared for entries in by_class]
    return {
        "kind": kind,
        "knots": [knots.tolist() for knots, _ in tables],
        "values": [values.tolist() for _, values in tables],
    }


def apply_calibration(logits: npt.ArrayLike, calibration: Mapping[str, Any] | None) -> Floats:
    """Probabilities of logits.

    Args:
        calibration: what ``fit_calibration`` returned; None for the plain sigmoid.

    >>> apply_calibration([[2.0]], {"kind": "platt", "slope": [0.5], "bias": [-1.0]})
    array([[0.5]])
    """
    scores = np.asarray(logits, dtype=np.float64)
    if calibration is None:
        return sigmoid(scores)
    check_calibration(calibration, scores.shape[1])
    if calibration["kind"] != "isotonic":
        return sigmoid(scores * calibration["slope"] + calibration["bias"])
    tables = zip(scores.T, calibration["knots"], calibration["values"], strict=True)
    return np.stack([np.interp(column, knots, values) for column, knots, values in tables], axis=1)


def check_calibration(calibration: Mapping[str, Any], classes: int) -> None:
    """Refuse a calibration that ``apply_calibration`` cannot read."""
    kind = calibration.get("kind") if isinstance(calibration, Mapping) else calibration
    if kind not in KINDS:
        raise TagfillError(f"unknown calibration {kind!r}", remedy=f"known: {', '.join(KINDS)}")
    parts = ("knots", "values") if kind == "isotonic" else ("slope", "bias")
    for part in parts:
        rows = calibration.get(part)
        if not isinstance(rows, list | tuple | np.ndarray) or len(rows) != classes:
            raise TagfillError(f"the calibration's {part} do not fit {classes} classes")
        for row in rows:
            _check_numbers(part, row, lists=kind == "isotonic")
    if kind == "isotonic" and list(map(len, calibration["knots"])) != list(
        map(len, calibration["values"])
    ):
        raise TagfillError("the calibration needs one value per knot")


def _check_numbers(part: str, values: Any, *, lists: bool) -> None:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TagfillError(f"the calibration's {part} are not numbers") from error
    rises = part != "knots" or array.ndim != 1 or bool((np.diff(array) >= 0).all())
    if array.ndim != lists or not array.size or not np.isfinite(array).all() or not rises:
        raise TagfillError(f"the calibration's {part} are not finite numbers in order")


def _lines(kind: CalibrationKind, lines: list[_Line]) -> dict[str, Any]:
    return {
        "kind": kind,
        "slope": [line.slope for line in lines],
        "bias": [line.bias for line in lines],
    }


def _entries(scores: Scores, targets: Floats) -> _Entries:
    known = np.isfinite(targets)
    return _Entries(scores[known].astype(np.float64), targets[known])


def _has_support(entries: _Entries) -> bool:
    positives = float(entries.targets.sum())
    return min(positives, len(entries.targets) - positives) >= STEPWISE_SUPPORT


def _steps(entries: _Entries) -> tuple[Floats, Floats]:
    """Knots and values of an isotonic fit; one knot at the mean score of each level."""
    from sklearn.isotonic import isotonic_regression

    scores, inverse, weight = np.unique(entries.scores, return_inverse=True, return_counts=True)
    means = np.bincount(inverse, weights=entries.targets) / weight
    fitted = isotonic_regression(means, sample_weight=weight.astype(np.float64))
    values, level = np.unique(fitted, return_inverse=True)
    knots = np.bincount(level, weights=weight * scores) / np.bincount(level, weights=weight)
    return knots, np.clip(values, 0.0, 1.0)


class _Line(NamedTuple):
    """slope x + bias; the slope is positive, so that the order of scores is kept."""

    slope: float
    bias: float

    def __call__(self, scores: npt.ArrayLike) -> Floats:
        """Logits of scores."""
        return np.asarray(self.slope * np.asarray(scores, dtype=np.float64) + self.bias)


class _Entries(NamedTuple):
    """Entries as vectors: scores, and how probable it is that each is positive."""

    scores: Floats
    targets: Floats

    def cost(self, line: _Line) -> tuple[float, float, float]:
        """Cross-entropy, and its slopes along slope and bias."""
        logits = line(self.scores)
        cost = _softplus(logits) - self.targets * logits
        pull = sigmoid(logits) - self.targets
        return float(cost.sum()), float(pull @ self.scores), float(pull.sum())


def _fit_line(entries: _Entries, *, fixed_bias: bool = False) -> _Line:
    """The line of greatest likelihood; a fixed bias is 0 (temperature scaling)."""
    center, spread = (0.0, 1.0) if fixed_bias else _standard(entries.scores)
    scaled = entries._replace(scores=(entries.scores - center) / spread)

    def cost(parameters: Floats) -> tuple[float, list[float]]:
        line = _Line(float(np.exp(parameters[0])), 0.0 if fixed_bias else float(parameters[1]))
        value, by_slope, by_bias = scaled.cost(line)
        count = len(entries.scores)
        gradient = [by_slope * line.slope / count, by_bias / count]
        return value / count, gradient[: len(parameters)]

    fitted = _minimum(cost, [np.log(spread)] if fixed_bias else [np.log(spread), center])
    slope = float(np.exp(fitted[0])) / spread
    return _Line(slope, 0.0 if fixed_bias else float(fitted[1]) - slope * center)


def _fit_near(entries: _Entries, near: _Line, strength: float) -> _Line:
    """The line of greatest posterior under a prior around another one.

    logit = exp(u) * near(x) + v with u and v normal with mean 0 and variance 1 / strength.
    """
    logits = near(entries.scores)
    scaled = entries._replace(scores=logits)

    def cost(parameters: Floats) -> tuple[float, list[float]]:
        turn, shift = (float(parameter) for parameter in parameters)
        value, by_slope, by_bias = scaled.cost(_Line(float(np.exp(turn)), shift))
        return (
            value + strength * (turn**2 + shift**2) / 2,
            [by_slope * float(np.exp(turn)) + strength * turn, by_bias + strength * shift],
        )

    turn, shift = _minimum(cost, [0.0, 0.0])
    factor = float(np.exp(turn))
    return _Line(factor * near.slope, factor * near.bias + float(shift))


def _minimum(cost: Callable[[Floats], tuple[float, list[float]]], begin: Sequence[float]) -> Floats:
    from scipy.optimize import minimize  # where nothing is fitted it takes a fifth of a start

    bounds = [(-_STEEPEST, _STEEPEST), *([(-_FARTHEST, _FARTHEST)] * (len(begin) - 1))]
    first = [float(np.clip(at, *bound)) for at, bound in zip(begin, bounds, strict=True)]
    result = minimize(cost, first, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(result.x, dtype=np.float64)


def _softplus(values: Floats) -> Floats:
    return np.asarray(np.maximum(values, 0) + np.log1p(np.exp(-np.abs(values))))


def _standard(scores: Floats) -> tuple[float, float]:
    spread = float(scores.std()) if len(scores) else 0.0
    return (float(scores.mean()), spread) if spread > _TINY else (0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predicted against observed frequency in bins of equal width ([bins] each).

    Args:
        confidence: mean probability of the entries in the bin, NaN where it is empty.
        frequency: share of positives among them, NaN where it is empty.
        entries: how many known entries fell into the bin.
    """

    confidence: Floats
    frequency: Floats
    entries: Integers


def reliability(
    probabilities: npt.ArrayLike, labels: npt.ArrayLike, *, bins: int = 15
) -> Reliability:
    """The reliability diagram of all known entries pooled.

    Args:
        bins: number of bins of equal width; the last one includes 1.
    """
    return _binned(*_known(*_checked(probabilities, labels)), bins)


def expected_calibration_error(
    probabilities: npt.ArrayLike, labels: npt.ArrayLike, *, bins: int = 15
) -> float:
    """ECE = sum over bins of (entries in bin / entries) * |mean probability - share of positives|.

    All known entries are pooled; most are easy negatives, so compare models on the same data only.
    """
    return _gap(reliability(probabilities, labels, bins=bins))


def classwise_calibration_error(
    probabilities: npt.ArrayLike, labels: npt.ArrayLike, *, bins: int = 15
) -> Floats:
    """[K] the expected calibration error of each class; NaN for a class with no known entry."""
    columns = zip(*(matrix.T for matrix in _checked(probabilities, labels)), strict=True)
    return np.array([_gap(_binned(*_known(*column), bins)) for column in columns])


def brier_score(probabilities: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Mean over known entries of (probability - label)^2; NaN when nothing is known."""
    predicted, truth = _known(*_checked(probabilities, labels))
    return float(np.square(predicted - truth).mean()) if len(predicted) else float("nan")


def _checked(probabilities: npt.ArrayLike, labels: npt.ArrayLike) -> tuple[Scores, Labels]:
    predicted, states = checked(probabilities, labels)
    if predicted.size and (predicted.min() < 0 or predicted.max() > 1):
        raise TagfillError(
            f"calibration needs probabilities, got scores from {predicted.min():g}"
            f" to {predicted.max():g}",
            remedy="turn logits into probabilities first",
        )
    return predicted, states


def _known(predicted: Scores, states: Labels) -> tuple[Floats, Floats]:
    known = states != UNKNOWN
    return predicted[known].astype(np.float64), (states[known] == POSITIVE).astype(np.float64)


def _binned(predicted: Floats, truth: Floats, bins: int) -> Reliability:
    number = np.minimum((predicted * bins).astype(np.intp), bins - 1)
    entries = np.bincount(number, minlength=bins)
    with np.errstate(invalid="ignore"):
        confidence = np.bincount(number, weights=predicted, minlength=bins) / entries
        frequency = np.bincount(number, weights=truth, minlength=bins) / entries
    return Reliability(confidence, frequency, entries)


def _gap(bins: Reliability) -> float:
    total = bins.entries.sum()
    if not total:
        return float("nan")
    filled = bins.entries > 0
    gaps = np.abs(bins.confidence[filled] - bins.frequency[filled])
    return float((gaps * bins.entries[filled]).sum() / total)
