"""Metrics with named definitions on score and label matrices.

Scores, probabilities and logits are [N, K], labels [N, K] of 1, 0 and -1; unknown entries are left
out. Metrics are fractions, except what is named mAP, which is in percent.
"""

from tagfill.evaluate.arrays import EmptyClasses, sigmoid
from tagfill.evaluate.calibration import (
    Reliability,
    apply_calibration,
    brier_score,
    classwise_calibration_error,
    expected_calibration_error,
    fit_calibration,
    reliability,
)
from tagfill.evaluate.counts import (
    Counts,
    PrecisionRecall,
    at_threshold,
    count,
    exact_match,
    hamming_loss,
    precision_recall,
    top_k,
)
from tagfill.evaluate.metrics import ClassMetrics, Metrics, summary
from tagfill.evaluate.precision import (
    DEFINITIONS,
    Definition,
    MeanAveragePrecision,
    average_precision,
    mean_average_precision,
)
from tagfill.evaluate.ranking import (
    AtK,
    ImageRanking,
    at_k,
    coverage_error,
    image_ranking,
    label_ranking_average_precision,
    ranking_loss,
)
from tagfill.evaluate.resampling import (
    Difference,
    Interval,
    bootstrap,
    mean_average_precision_statistic,
    paired_bootstrap,
    precision_recall_statistic,
)
from tagfill.evaluate.scores import ScoreFile, load_scores
from tagfill.evaluate.selection import CRITERIA, Criterion, choose_criterion
from tagfill.evaluate.thresholds import DecisionRule, Thresholds, fit_decision_rule, fit_thresholds

__all__ = [
    "CRITERIA",
    "DEFINITIONS",
    "AtK",
    "ClassMetrics",
    "Counts",
    "Criterion",
    "DecisionRule",
    "Definition",
    "Difference",
    "EmptyClasses",
    "ImageRanking",
    "Interval",
    "MeanAveragePrecision",
    "Metrics",
    "PrecisionRecall",
    "Reliability",
    "ScoreFile",
    "Thresholds",
    "apply_calibration",
    "at_k",
    "at_threshold",
    "average_precision",
    "bootstrap",
    "brier_score",
    "choose_criterion",
    "classwise_calibration_error",
    "count",
    "coverage_error",
    "exact_match",
    "expected_calibration_error",
    "fit_calibration",
    "fit_decision_rule",
    "fit_thresholds",
    "hamming_loss",
    "image_ranking",
    "label_ranking_average_precision",
    "load_scores",
    "mean_average_precision",
    "mean_average_precision_statistic",
    "paired_bootstrap",
    "precision_recall",
    "precision_recall_statistic",
    "ranking_loss",
    "reliability",
    "sigmoid",
    "summary",
    "top_k",
]
