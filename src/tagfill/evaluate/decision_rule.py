"""From logits to tags: calibration and thresholds, fitted together on held-out images."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagfill.evaluate.arrays import checked_targets
from tagfill.evaluate.calibration import CalibrationKind, apply_calibration, fit_calibration
from tagfill.evaluate.calibration_metrics import brier_score, expected_calibration_error
from tagfill.evaluate.counts import PrecisionRecall, at_threshold, count, precision_recall
from tagfill.evaluate.metrics import without_nan
from tagfill.evaluate.thresholds import Goal, Thresholds, expected_counts, fit_thresholds
from tagfill.labels.table import POSITIVE


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
