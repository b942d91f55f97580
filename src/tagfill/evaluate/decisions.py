"""From logits to tags: calibration and thresholds, fitted together on held-out images."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy.typing as npt

from tagfill.evaluate.calibrate import CalibrationKind, apply_calibration, fit_calibration
from tagfill.evaluate.calibration import brier_score, expected_calibration_error
from tagfill.evaluate.counts import PrecisionRecall, at_threshold, count, precision_recall
from tagfill.evaluate.metrics import without_nan
from tagfill.evaluate.thresholds import Goal, Thresholds, expected_counts, fit_thresholds


@dataclass(frozen=True, eq=False)
class Decisions:
    """How logits become probabilities, and probabilities tags.

    Args:
        calibration: what ``apply_calibration`` reads.
        thresholds: on calibrated probabilities.
        expected: metrics expected on the images they were fitted to; there are such metrics
            without any known negative.
    """

    calibration: dict[str, Any]
    thresholds: Thresholds
    expected: PrecisionRecall

    def as_dict(self) -> dict[str, Any]:
        """A summary of the fit."""
        return {
            **self.thresholds.as_dict(),
            "calibration": self.calibration["kind"],
            "expected": without_nan(asdict(self.expected)),
        }

    def metrics(self, logits: npt.ArrayLike, labels: npt.ArrayLike) -> dict[str, Any]:
        """Metrics of the decisions on known entries; the labels need negatives."""
        probabilities = apply_calibration(logits, self.calibration)
        decided = at_threshold(probabilities, self.thresholds.values)
        found: dict[str, Any] = without_nan(
            {
                "at_fitted_thresholds": asdict(precision_recall(count(decided, labels))),
                "calibrated": {
                    "expected_calibration_error": expected_calibration_error(probabilities, labels),
                    "brier_score": brier_score(probabilities, labels),
                },
            }
        )
        return found


def fit_decisions(
    logits: npt.ArrayLike,
    targets: npt.ArrayLike,
    *,
    kind: CalibrationKind = "platt",
    goal: Goal = "f1",
    target: float | None = None,
) -> Decisions:
    """Fit calibration, then thresholds on what it gives.

    Args:
        logits: [N, K] of images the model was not trained on.
        targets: [N, K] labels 1, 0, -1, or probabilities of them (``tagfill.priors.presence``),
            at least one positive.
    """
    calibration = fit_calibration(logits, targets, kind=kind)
    probabilities = apply_calibration(logits, calibration)
    thresholds = fit_thresholds(probabilities, targets, goal=goal, target=target)
    decided = at_threshold(probabilities, thresholds.values)
    expected = precision_recall(expected_counts(decided, targets))
    return Decisions(calibration, thresholds, expected)
