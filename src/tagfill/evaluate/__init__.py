"""Metrics with named definitions on score and label matrices; unknown cells are left out.

Figures are fractions, except what is named mAP, which is in percent.
"""

from tagfill.evaluate.arrays import EmptyClasses, sigmoid
from tagfill.evaluate.bootstrap import (
    Difference,
    Interval,
    bootstrap,
    mean_average_precision_statistic,
    paired_bootstrap,
    precision_recall_statistic,
)
from tagfill.evaluate.calibration import (
    Reliability,
    brier_score,
    classwise_calibration_error,
    expected_calibration_error,
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

__all__ = [
    "DEFINITIONS",
    "AtK",
    "Counts",
    "Definition",
    "Difference",
    "EmptyClasses",
    "ImageRanking",
    "Interval",
    "MeanAveragePrecision",
    "PrecisionRecall",
    "Reliability",
    "at_k",
    "at_threshold",
    "average_precision",
    "bootstrap",
    "brier_score",
    "classwise_calibration_error",
    "count",
    "coverage_error",
    "exact_match",
    "expected_calibration_error",
    "hamming_loss",
    "image_ranking",
    "label_ranking_average_precision",
    "mean_average_precision",
    "mean_average_precision_statistic",
    "paired_bootstrap",
    "precision_recall",
    "precision_recall_statistic",
    "ranking_loss",
    "reliability",
    "sigmoid",
    "top_k",
]
