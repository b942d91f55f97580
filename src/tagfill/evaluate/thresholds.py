"""From logits to tags: thresholds, one a class, and the calibration they are fitted with."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tagfill.arrays import Floats, Matrix
from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import checked_targets, sigmoid
from tagfill.evaluate.calibration import (
    SAMPLE,
    CalibrationKind,
    apply_calibration,
    brier_score,
    expected_calibration_error,
    fit_calibration,
)
from tagfill.evaluate.counts import Counts, PrecisionRecall, at_threshold, count, precision_recall
from tagfill.evaluate.metrics import without_nan
from tagfill.labels.table import POSITIVE, UNKNOWN

Goal = Literal["f1", "precision", "recall"]

MIN_SUPPORT = 5
"""Positives below which a class takes the common threshold."""
SHRINK = 40.0
"""Positives at which a class's own threshold and the common one weigh the same."""
_CLOSEST = 1e-6
"""Smallest distance of a threshold to 0 and to 1."""
_MARGIN = 1e-6
"""Distance in logits below the lowest score of a threshold that accepts every image."""


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Fitted thresholds.

    Args:
        values: [K] to be used: score >= threshold gives the tag.
        common: the best single threshold for all classes together.
        support: [K] positives each class was fitted to, expected ones among them.
        unreached: numbers of the classes whose target precision no threshold reaches; they take
            the one with the highest precision.
    """

    values: Floats
    common: float
    support: Floats
    unreached: tuple[int, ...]
    goal: Goal
    target: float | None

    def as_dict(self) -> dict[str, Any]:
        return {
            "goal": self.goal,
            "target": self.target,
            "common": self.common,
            "lowest": float(self.values.min()),
            "median": float(np.median(self.values)),
            "highest": float(self.values.max()),
            "classes_at_common": int((self.values == self.common).sum()),
            "classes_without_target": len(self.unreached),
        }


def fit_thresholds(
    probabilities: npt.ArrayLike,
    targets: npt.ArrayLike,
    *,
    goal: Goal = "f1",
    target: float | None = None,
    min_support: int = MIN_SUPPORT,
    shrink: float = SHRINK,
    calibrated: bool = False,
) -> Thresholds:
    """Choose thresholds on images the model was not trained on.

    ``f1`` takes the highest F1; ``precision`` the lowest threshold whose precision reaches the
    target, that is the most recall; ``recall`` the highest that reaches the target recall. A class
    with n positives gets, in logits, (n own + shrink common) / (n + shrink); with n below
    ``min_support`` the common threshold alone. Thresholds lie halfway between the last score taken
    and the first not taken.

    Where probabilities are ``calibrated``, they say themselves which threshold has the highest
    expected F1 in a class, and the noise of its few labels does not matter. The highest sum of
    micro and macro F1 then lies between that and the common threshold: see ``_between``.

    An entry that is positive with probability q counts q as positive and 1 - q as negative, so
    that precision, recall and F1 are expected values where labels are missing.

    Args:
        probabilities: [N, K] in 0..1, calibrated if they are to be.
        targets: [N, K] labels 1, 0, -1, or probabilities that entries are positive; entries of -1
            or NaN are left out.
        target: for ``precision`` and ``recall``.
        calibrated: the probabilities mean what they say; for ``f1``.
    """
    scores, chances = checked_targets(probabilities, targets)
    _check(scores, goal, target)
    inner = np.clip(scores.astype(np.float64), _CLOSEST, 1 - _CLOSEST)
    logits = np.log(inner) - np.log1p(-inner)
    known = np.isfinite(chances)
    if not chances[known].any():
        raise TagfillError("thresholds cannot be fitted to labels without a positive")
    hit, miss = np.where(known, chances, 0.0), np.where(known, 1 - chances, 0.0)
    step = max(1, -(-chances.size // SAMPLE))
    flat = (matrix[::step].ravel() for matrix in (logits, hit, miss))
    common, _ = _cut(_curve(*flat), goal, target)
    support = hit.sum(axis=0)
    values, unreached = np.full(chances.shape[1], common), []
    enough = support >= max(min_support, 1)
    if calibrated and goal == "f1":
        values[enough] = _between(inner[:, enough], float(sigmoid(common)))
        enough = np.zeros_like(enough)
    for column in np.flatnonzero(enough):
        curve = _curve(logits[:, column], hit[:, column], miss[:, column])
        own, reached = _cut(curve, goal, target)
        weight = support[column] / (support[column] + shrink)
        values[column] = weight * own + (1 - weight) * common
        if not reached:
            unreached.append(int(column))
    return Thresholds(
        sigmoid(values), float(sigmoid(common)), support, tuple(unreached), goal, target
    )


def _between(probabilities: Floats, common: float) -> Floats:
    """[K] thresholds, in logits, with the highest sum of micro and macro F1.

    A tag of probability p adds (2 p - F) / D to micro F1 and (2 p - F_k) / (K D_k) to macro F1, F_k
    the F1 of its class, D_k the tags taken there plus those present, D their sum over
    classes. So it is worth taking above a mean of F / 2 and F_k / 2 with the weights 1 / D and
    1 / (K D_k): frequent classes near the common threshold, rare ones near their own.
    """
    if probabilities.shape[1] == 0:
        return np.empty(0)
    falling = -np.sort(-probabilities, axis=0)
    present = falling.sum(axis=0)
    either = np.arange(1, len(falling) + 1)[:, None] + present
    f1 = 2 * np.cumsum(falling, axis=0) / either
    best = f1.argmax(axis=0)[None]
    own, size = (np.take_along_axis(matrix, best, 0)[0] for matrix in (f1 / 2, either))
    weight = size / (size + size.mean())
    values = np.clip(weight * common + (1 - weight) * own, _CLOSEST, 1 - _CLOSEST)
    return np.asarray(np.log(values) - np.log1p(-values))


def expected_counts(decided: npt.ArrayLike, targets: npt.ArrayLike) -> Counts:
    """Right and wrong decisions, class by class; expected ones where labels are probabilities."""
    predicted, chances = np.asarray(decided, dtype=bool), np.array(targets, dtype=np.float64)
    chances[chances == UNKNOWN] = np.nan
    hit = np.where(predicted, chances, 0.0)
    return Counts(
        np.nansum(hit, axis=0),
        np.nansum(np.where(predicted, 1 - chances, 0.0), axis=0),
        np.nansum(chances - hit, axis=0),
    )


class _Curve(NamedTuple):
    """Precision, recall and F1 of the rule "at least this score", one entry per distinct score."""

    cuts: Floats
    precision: Floats
    recall: Floats
    f1: Floats


def _curve(scores: Floats, hit: Floats, miss: Floats) -> _Curve:
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    last = np.flatnonzero(np.append(np.diff(falling) < 0, True))
    hits = np.cumsum(hit[order])[last]
    wrong = np.maximum(np.cumsum(miss[order])[last], 0.0)
    all_positives = max(float(hit.sum()), 1e-12)
    below = np.append(falling[last[1:]], falling[-1] - _MARGIN)
    return _Curve(
        cuts=(falling[last] + below) / 2,
        precision=hits / np.maximum(hits + wrong, 1e-12),
        recall=hits / all_positives,
        f1=2 * hits / (hits + wrong + all_positives),
    )


def _cut(curve: _Curve, goal: Goal, target: float | None) -> tuple[float, bool]:
    """The chosen threshold, and whether it reaches the target."""
    if goal == "f1" or target is None:
        return float(curve.cuts[curve.f1.argmax()]), True
    if goal == "recall":
        return float(curve.cuts[(curve.recall >= target - 1e-12).argmax()]), True
    reaching = curve.precision >= target - 1e-12
    if reaching.any():
        return float(curve.cuts[np.flatnonzero(reaching)[-1]]), True
    return float(curve.cuts[curve.precision.argmax()]), False


def _check(scores: Matrix, goal: Goal, target: float | None) -> None:
    if scores.size and (scores.min() < 0 or scores.max() > 1):
        raise TagfillError(
            "thresholds are fitted to probabilities",
            remedy="turn logits into probabilities first",
        )
    if (goal == "f1") != (target is None):
        raise TagfillError("a target goes with the goals precision and recall only")
    if target is not None and not 0 < target <= 1:
        raise TagfillError(f"a target {goal} of {target:g} is not in 0 to 1")


@dataclass(frozen=True, eq=False)
class DecisionRule:
    """How logits become probabilities, and probabilities tags.

    Args:
        expected: metrics expected on the images they were fitted to; defined also without known
            negatives.
    """

    calibration: dict[str, Any]
    thresholds: Thresholds
    expected: PrecisionRecall

    def as_dict(self) -> dict[str, Any]:
        return {
            **self.thresholds.as_dict(),
            "calibration": self.calibration["kind"],
            "expected": without_nan(asdict(self.expected)),
        }

    def metrics(self, logits: npt.ArrayLike, labels: npt.ArrayLike) -> dict[str, Any]:
        """Metrics of the decisions on known entries; the labels need negatives."""
        probabilities = apply_calibration(logits, self.calibration)
        decided = at_threshold(probabilities, self.thresholds.values)
        measured: dict[str, Any] = without_nan(
            {
                "at_fitted_thresholds": asdict(precision_recall(count(decided, labels))),
                "calibrated": {
                    "expected_calibration_error": expected_calibration_error(probabilities, labels),
                    "brier_score": brier_score(probabilities, labels),
                },
            }
        )
        return measured

    def estimated(
        self, logits: npt.ArrayLike, targets: npt.ArrayLike, labels: npt.ArrayLike
    ) -> dict[str, Any]:
        """Metrics expected where absence is not known, and the recall of known positives.

        Args:
            targets: [N, K] probabilities that tags are there (``tagfill.priors.presence``).
        """
        probabilities = apply_calibration(logits, self.calibration)
        decided = at_threshold(probabilities, self.thresholds.values)
        rates = precision_recall(expected_counts(decided, targets))
        known = np.asarray(labels) == POSITIVE
        expected: dict[str, Any] = without_nan(
            {
                "mAP": expected_mean_average_precision(logits, targets),
                **asdict(rates),
                "recall_of_written": float(decided[known].mean()) if known.any() else float("nan"),
            }
        )
        return expected


def expected_mean_average_precision(scores: npt.ArrayLike, targets: npt.ArrayLike) -> float:
    """mAP, in percent, where labels are probabilities; unknown entries are left out.

    The i-th image of a class, if it has the tag, has 1 + (expected tags before it) hits at rank i.
    """
    values, chances = checked_targets(scores, targets)
    precisions = []
    for column, chance in zip(values.T, chances.T, strict=True):
        known = np.isfinite(chance)
        falling = chance[known][np.argsort(-column[known], kind="stable")]
        if falling.sum() > 0:
            hits = np.cumsum(falling) - falling + 1
            precision = hits / np.arange(1, len(falling) + 1)
            precisions.append(float((falling * precision).sum() / falling.sum()))
    return 100 * float(np.mean(precisions)) if precisions else float("nan")


def fit_decision_rule(
    logits: npt.ArrayLike,
    targets: npt.ArrayLike,
    *,
    kind: CalibrationKind = "platt",
    goal: Goal = "f1",
    target: float | None = None,
) -> DecisionRule:
    """Fit calibration, then thresholds on calibrated probabilities.

    Args:
        logits: [N, K] of images the model was not trained on.
        targets: [N, K] labels 1, 0, -1, or probabilities of them (``tagfill.priors.presence``),
            at least one positive.
    """
    calibration = fit_calibration(logits, targets, kind=kind)
    probabilities = apply_calibration(logits, calibration)
    thresholds = fit_thresholds(probabilities, targets, goal=goal, target=target, calibrated=True)
    decided = at_threshold(probabilities, thresholds.values)
    expected = precision_recall(expected_counts(decided, targets))
    return DecisionRule(calibration, thresholds, expected)
