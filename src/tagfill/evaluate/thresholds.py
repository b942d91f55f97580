"""Thresholds: one a class, shrunk toward a common one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import Floats, checked, sigmoid
from tagfill.evaluate.labeling import SAMPLE, Labeling, estimate_labeling
from tagfill.labels.table import POSITIVE

Goal = Literal["f1", "precision", "recall"]

MIN_SUPPORT = 5
"""Labeled positives below which a class takes the common threshold."""
SHRINK = 40.0
"""Labeled positives at which a class's own threshold and the common one weigh the same."""
_CLOSEST = 1e-6
"""To 0 and 1 a threshold may come."""


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Fitted thresholds.

    Args:
        values: [K] to be used: score >= threshold gives the tag.
        common: the best single threshold for all classes together.
        support: [K] labeled positives each class was fitted to.
        unreached: numbers of the classes whose target precision no threshold reaches; they take
            the one with the highest precision.
        goal: what was aimed at.
        target: the precision or recall to reach.
    """

    values: Floats
    common: float
    support: npt.NDArray[np.int64]
    unreached: tuple[int, ...]
    goal: Goal
    target: float | None

    def as_dict(self) -> dict[str, Any]:
        """A summary of the fit."""
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
    labels: npt.ArrayLike,
    *,
    goal: Goal = "f1",
    target: float | None = None,
    labeling: Labeling | None = None,
    min_support: int = MIN_SUPPORT,
    shrink: float = SHRINK,
) -> Thresholds:
    """Choose thresholds on images the model was not trained on.

    ``f1`` takes the highest F1; ``precision`` the lowest threshold whose precision reaches the
    target, that is the most recall; ``recall`` the highest that reaches the target recall. A class
    with n labeled positives gets, in logits, (n own + shrink common) / (n + shrink); with n below
    ``min_support`` the common threshold alone. Thresholds lie halfway between the last score taken
    and the first not taken.

    Positives that were labeled with chance c count as 1 / c. Where negatives are never written,
    the expected false positives are all predicted entries less the expected true ones, so precision
    and F1 are expected values under ``labeling``; recall is that of labeled positives.

    Args:
        probabilities: [N, K] in 0..1, calibrated if they are to be.
        labels: [N, K] of 1, 0, -1.
        target: for ``precision`` and ``recall``.
        labeling: how labels came to be known; estimated by default.
    """
    scores, states = checked(probabilities, labels)
    _check(scores, goal, target)
    inner = np.clip(scores.astype(np.float64), _CLOSEST, 1 - _CLOSEST)
    logits = np.log(inner) - np.log1p(-inner)
    how = labeling or estimate_labeling(logits, states)
    hit, miss = how.weights(states)
    step = max(1, -(-states.size // SAMPLE))
    flat = (matrix[::step].ravel() for matrix in (logits, hit, miss))
    common, _ = _cut(_curve(*flat), goal, target)
    support = (states == POSITIVE).sum(axis=0)
    values, unreached = np.full(states.shape[1], common), []
    for column in np.flatnonzero(support >= max(min_support, 1)):
        curve = _curve(logits[:, column], hit[:, column], miss[:, column])
        own, reached = _cut(curve, goal, target)
        weight = support[column] / (support[column] + shrink)
        values[column] = weight * own + (1 - weight) * common
        if not reached:
            unreached.append(int(column))
    return Thresholds(
        sigmoid(values), float(sigmoid(common)), support, tuple(unreached), goal, target
    )


class _Curve(NamedTuple):
    """Precision, recall and F1 of the rule "at least this score", one entry a distinct score."""

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
    below = np.append(falling[last[1:]], falling[-1])
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


def _check(scores: npt.NDArray[np.floating], goal: Goal, target: float | None) -> None:
    if scores.size and (scores.min() < 0 or scores.max() > 1):
        raise TagfillError(
            "thresholds are fitted to probabilities",
            remedy="turn logits into probabilities first",
        )
    if (goal == "f1") != (target is None):
        raise TagfillError("a target belongs to the goals precision and recall, and only to them")
    if target is not None and not 0 < target <= 1:
        raise TagfillError(f"a target {goal} of {target:g} is not in 0 to 1")
