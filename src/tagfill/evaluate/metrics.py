"""Every metric of a score matrix in one object that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagfill.arrays import Mask
from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import EmptyClasses, Scores, checked, sigmoid
from tagfill.evaluate.calibration import brier_score, expected_calibration_error
from tagfill.evaluate.counts import (
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
    mean_average_precision,
)
from tagfill.evaluate.ranking import AtK, at_k, image_ranking, mean_of_defined
from tagfill.evaluate.resampling import (
    Interval,
    bootstrap,
    mean_average_precision_statistic,
    precision_recall_statistic,
)
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels

TOP = 3
"""The k of the literature's top-k precision, recall and F1."""


@dataclass(frozen=True)
class ClassMetrics:
    """Label counts and metrics of one class.

    Fractions; average precision, recall and F1 are NaN where there is no positive.
    """

    name: str
    positives: int
    negatives: int
    unknowns: int
    average_precision: float
    threshold: float
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Ranking:
    """Order of the classes within images, over the images that can be scored."""

    ranking_loss: float
    coverage_error: float
    label_ranking_average_precision: float
    images_scored: int


@dataclass(frozen=True)
class Calibration:
    """Calibration errors over all known entries."""

    expected_calibration_error: float
    brier_score: float


@dataclass(frozen=True, repr=False)
class Metrics:
    """All metrics of a score matrix: fractions, but mAP in percent.

    Args:
        mAP: under the chosen definition and rule.
        mAP_by_definition: under every definition, same rule.
        definitions: what was chosen: average precision, rule for empty classes, thresholds, ...
        hamming_loss: share of known entries that the threshold decides wrongly.
        exact_match: share of images with all known entries decided rightly.
        top_3: the three best classes of each image.
        top_3_at_threshold: those of the three that also reach the threshold.
        at_k: precision, recall and hit rate of the k best.
        calibration: ``None`` if the scores are not probabilities.
        intervals: bootstrap intervals by name of the metric; empty without resamples.
    """

    images: int
    classes: int
    positives: int
    negatives: int
    unknowns: int
    mAP: float  # noqa: N815
    mAP_by_definition: Mapping[str, float]  # noqa: N815
    definitions: Mapping[str, Any]
    classes_without_positives: tuple[str, ...]
    at_threshold: PrecisionRecall
    hamming_loss: float
    exact_match: float
    top_3: PrecisionRecall
    top_3_at_threshold: PrecisionRecall
    at_k: Mapping[int, AtK]
    ranking: Ranking
    calibration: Calibration | None
    intervals: Mapping[str, Interval]
    per_class: tuple[ClassMetrics, ...]

    def __repr__(self) -> str:
        rates = self.at_threshold
        return (
            f"Metrics({self.images:,} images, {self.classes:,} classes, mAP {self.mAP:.1f},"
            f" overall F1 {100 * rates.overall_f1:.1f},"
            f" class F1 {100 * rates.class_f1_mean_of_f1:.1f})"
        )

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values for JSON; NaN becomes ``None``."""
        plain: dict[str, Any] = without_nan(asdict(self))
        return plain


def summary(
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    classes: Sequence[str] | None = None,
    *,
    logits: bool = False,
    threshold: npt.ArrayLike = 0.5,
    definition: Definition = "non_interpolated",
    empty_classes: EmptyClasses = "skip",
    ks: Sequence[int] = (1, 3, 5),
    resamples: int = 0,
    seed: int = 0,
) -> Metrics:
    """Every metric of a score matrix.

    Args:
        classes: K names; numbers when not given.
        logits: the scores are logits. Thresholds and calibration then see their sigmoid, while
            rankings use the logits themselves, which saturate later.
        threshold: one, or [K].
        empty_classes: what classes without positives add to means over classes.
        ks: for precision, recall and hit rate at k.
        resamples: of the bootstrap; 0 for no intervals.
    """
    score_array, label_array = checked(scores, labels)
    if not label_array.size:
        raise TagfillError(f"there is nothing to evaluate in scores of shape {score_array.shape}")
    names = _names(classes, label_array.shape[1])
    means = {
        name: mean_average_precision(
            score_array, label_array, definition=name, empty_classes=empty_classes
        )
        for name in dict.fromkeys((definition, *DEFINITIONS))
    }
    decisive = sigmoid(score_array) if logits else score_array
    decided = at_threshold(decisive, threshold)
    best = top_k(score_array, label_array, TOP)

    def rates(decisions: Mask) -> PrecisionRecall:
        return precision_recall(count(decisions, label_array), empty_classes=empty_classes)

    return Metrics(
        images=label_array.shape[0],
        classes=label_array.shape[1],
        positives=int((label_array == POSITIVE).sum()),
        negatives=int((label_array == NEGATIVE).sum()),
        unknowns=int((label_array == UNKNOWN).sum()),
        mAP=means[definition].mAP,
        mAP_by_definition={name: means[name].mAP for name in DEFINITIONS},
        definitions={
            "average_precision": definition,
            "empty_classes": empty_classes,
            "undefined_images": "skip",
            "threshold": np.asarray(threshold).tolist(),
            "scores": "logits" if logits else "as given",
        },
        classes_without_positives=tuple(
            names[number] for number in means[definition].without_positives
        ),
        at_threshold=rates(decided),
        hamming_loss=hamming_loss(decided, label_array),
        exact_match=exact_match(decided, label_array),
        top_3=rates(best),
        top_3_at_threshold=rates(best & decided),
        at_k=at_k(score_array, label_array, ks),
        ranking=_ranking(score_array, label_array),
        calibration=None
        if decisive.min() < 0 or decisive.max() > 1
        else Calibration(
            expected_calibration_error(decisive, label_array), brier_score(decisive, label_array)
        ),
        intervals=_intervals(score_array, label_array, decided, means[definition], resamples, seed),
        per_class=_per_class(names, label_array, means[definition], decided, threshold),
    )


def _names(classes: Sequence[str] | None, number: int) -> tuple[str, ...]:
    if classes is None:
        return tuple(str(index) for index in range(number))
    if len(classes) != number:
        raise TagfillError(f"{len(classes)} class names do not fit {number} columns of scores")
    return tuple(classes)


def _ranking(scores: Scores, labels: Labels) -> Ranking:
    ranked = image_ranking(scores, labels)
    return Ranking(
        mean_of_defined(ranked.loss),
        mean_of_defined(ranked.coverage),
        mean_of_defined(ranked.average_precision),
        int((~np.isnan(ranked.loss)).sum()),
    )


def _intervals(
    scores: Scores,
    labels: Labels,
    decided: Mask,
    chosen: MeanAveragePrecision,
    resamples: int,
    seed: int,
) -> dict[str, Interval]:
    if resamples <= 0:
        return {}
    rule = chosen.empty_classes
    statistics = {
        "mAP": mean_average_precision_statistic(
            scores, labels, definition=chosen.definition, empty_classes=rule
        ),
        **{
            name: precision_recall_statistic(decided, labels, name, empty_classes=rule)
            for name in ("overall_f1", "class_f1_of_means")
        },
    }
    return {
        name: bootstrap(statistic, len(labels), resamples=resamples, seed=seed)
        for name, statistic in statistics.items()
    }


def _per_class(
    names: Sequence[str],
    labels: Labels,
    chosen: MeanAveragePrecision,
    decided: Mask,
    threshold: npt.ArrayLike,
) -> tuple[ClassMetrics, ...]:
    counts = count(decided, labels)
    empty = np.isnan(chosen.average_precision)
    columns = zip(
        names,
        *((labels == state).sum(axis=0).tolist() for state in (POSITIVE, NEGATIVE, UNKNOWN)),
        chosen.average_precision.tolist(),
        np.broadcast_to(np.asarray(threshold, dtype=np.float64), len(names)).tolist(),
        counts.precision.tolist(),
        np.where(empty, np.nan, counts.recall).tolist(),
        np.where(empty, np.nan, counts.f1).tolist(),
        strict=True,
    )
    return tuple(ClassMetrics(*column) for column in columns)


def without_nan(value: Any) -> Any:
    """Plain values for JSON: names as text, NaN as ``None``."""
    if isinstance(value, dict):
        return {str(key): without_nan(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(member) for member in value]
    return None if isinstance(value, float) and math.isnan(value) else value
