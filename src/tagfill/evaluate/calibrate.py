"""Make probabilities mean what they say: maps from logits to probabilities, fitted on labels.

Missing positives push probabilities down; the fit knows how likely labels were to be written (see
``labeling``) and corrects for it. A fitted map is a plain dictionary that JSON can hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import Floats, checked, sigmoid
from tagfill.evaluate.labeling import SAMPLE, Labeling, estimate_labeling
from tagfill.evaluate.sigmoid_fit import Entries, Line, fit_line, fit_near, one_thread
from tagfill.labels.table import POSITIVE, UNKNOWN

CalibrationKind = Literal["platt", "temperature", "isotonic"]
KINDS: tuple[CalibrationKind, ...] = get_args(CalibrationKind)

SHRINK = 10.0
"""Strength of the prior that holds a class's map near the one of all classes together."""
STEPWISE_SUPPORT = 20
"""Known positives, and other entries, a class needs for a stepwise map of its own."""
_ROUNDS = 20


def fit_calibration(
    logits: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    kind: CalibrationKind = "platt",
    labeling: Labeling | None = None,
    shrink: float = SHRINK,
) -> dict[str, Any]:
    """Fit a map from logits to probabilities on images the model was not trained on.

    - ``temperature``: sigmoid(x / T), one T for all classes (Guo et al. 2017).
    - ``platt``: sigmoid(slope_k x + bias_k) (Platt 1999). A class's line is drawn toward the line
      fitted to all classes: slope_k = slope e^u, with a normal prior of variance 1 / shrink on u
      and on the shift of the logit, in place of Platt's smoothed targets.
    - ``isotonic``: piecewise linear through the centers of the steps of an isotonic fit, hence
      strictly increasing (Oron and Flournoy 2017); classes with few labels share one map.

    Unknown entries count only where positives and negatives were labeled at different rates: there
    the likelihood of "unknown" says how many of them are positive.

    Args:
        logits: [N, K].
        labels: [N, K] of 1, 0, -1.
        kind: of map.
        labeling: how labels came to be known; estimated by default.
        shrink: strength of the prior of ``platt``; 0 fits each class alone.

    Returns:
        ``kind``; ``slope`` and ``bias`` [K], or ``knots`` and ``values`` [K][any].
    """
    scores, states = checked(logits, labels)
    if kind not in KINDS:
        raise TagfillError(f"unknown calibration {kind!r}", remedy=f"use {', '.join(KINDS)}")
    how = labeling or estimate_labeling(scores, states)
    pooled = how.entries(scores, states)
    pooled = pooled.select(slice(None, None, max(1, -(-len(pooled.scores) // SAMPLE))))
    entries = (how.entries(scores, states, column) for column in range(states.shape[1]))
    with one_thread():
        if kind == "temperature":
            return _lines(kind, [fit_line(pooled, fixed_bias=True)] * states.shape[1])
        line = fit_line(pooled)
        if kind == "platt":
            return _lines(kind, [fit_near(entry, line, shrink) for entry in entries])
        shared = _steps(pooled, line)
        tables = [_steps(entry, line) if _has_support(entry) else shared for entry in entries]
    return {
        "kind": kind,
        "knots": [knots.tolist() for knots, _ in tables],
        "values": [values.tolist() for _, values in tables],
    }


def apply_calibration(logits: npt.ArrayLike, calibration: Mapping[str, Any] | None) -> Floats:
    """Probabilities of logits.

    Args:
        logits: [N, K].
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
    """Refuse what ``apply_calibration`` would not understand."""
    kind = calibration.get("kind")
    if kind not in KINDS:
        raise TagfillError(f"unknown calibration {kind!r}", remedy=f"known: {', '.join(KINDS)}")
    for part in ("knots", "values") if kind == "isotonic" else ("slope", "bias"):
        if len(calibration.get(part, ())) != classes:
            raise TagfillError(f"the calibration's {part} do not fit {classes} classes")


def _lines(kind: CalibrationKind, lines: list[Line]) -> dict[str, Any]:
    return {
        "kind": kind,
        "slope": [line.slope for line in lines],
        "bias": [line.bias for line in lines],
    }


def _has_support(entries: Entries) -> bool:
    positives = int((entries.labels == POSITIVE).sum())
    return min(positives, len(entries.labels) - positives) >= STEPWISE_SUPPORT


def _steps(entries: Entries, line: Line) -> tuple[Floats, Floats]:
    """Knots and values of the centered isotonic fit.

    Where unknown entries count, their labels are replaced by the chance that they are positive,
    given that nobody wrote it, and fit and replacement alternate (expectation maximization).
    """
    order = np.argsort(entries.scores, kind="stable")
    scores, labels = entries.scores[order], entries.labels[order]
    positive = np.broadcast_to(np.asarray(entries.positive), len(order))[order]
    targets = (labels == POSITIVE).astype(np.float64)
    unknown = labels == UNKNOWN
    p = sigmoid(line(scores))
    for _ in range(_ROUNDS if unknown.any() else 1):
        hidden = p * (1 - positive)
        chance = hidden / np.maximum(hidden + (1 - p) * (1 - entries.negative), 1e-12)
        targets = np.where(unknown, chance, targets)
        knots, values = _centered(scores, targets)
        p = np.interp(scores, knots, values)
    return knots, values


def _centered(scores: Floats, targets: Floats) -> tuple[Floats, Floats]:
    """Isotonic regression on sorted scores; one knot at the mean score of each level."""
    from sklearn.isotonic import isotonic_regression

    distinct, place, weight = np.unique(scores, return_inverse=True, return_counts=True)
    means = np.bincount(place, weights=targets) / weight
    fitted = isotonic_regression(means, sample_weight=weight.astype(np.float64))
    values, level = np.unique(fitted, return_inverse=True)
    total = np.bincount(level, weights=weight)
    knots = np.bincount(level, weights=weight * distinct) / total
    return knots, np.clip(values, 0.0, 1.0)
