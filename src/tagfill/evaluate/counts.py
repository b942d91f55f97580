"""Precision, recall and F1 of decided tags: overall (micro), per class, and both kinds of CF1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tagfill.arrays import Floats, Mask
from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import EmptyClasses, Scores, checked, means_over_classes
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels


@dataclass(frozen=True, eq=False)
class Counts:
    """How often decisions on known entries were right and wrong, class by class ([K] each)."""

    true_positives: Floats
    false_positives: Floats
    false_negatives: Floats

    @property
    def precision(self) -> Floats:
        """[K]; 0 where nothing was predicted."""
        return _ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> Floats:
        """[K]; 0 where nothing was to be found."""
        return _ratio(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f1(self) -> Floats:
        """[K] 2 TP / (2 TP + FP + FN); 0 where all three are 0."""
        twice = 2 * self.true_positives
        return _ratio(twice, twice + self.false_positives + self.false_negatives)


@dataclass(frozen=True)
class PrecisionRecall:
    """The decided-tag metrics of the literature, as fractions.

    Args:
        overall_precision: OP, from counts summed over classes (micro).
        overall_recall: OR.
        overall_f1: OF1.
        class_precision: CP, mean over classes (macro); a class never predicted has precision 0.
        class_recall: CR, mean over classes.
        class_f1_of_means: CF1 as 2 CP CR / (CP + CR).
        class_f1_mean_of_f1: CF1 as the mean over classes of each class's F1.
    """

    overall_precision: float
    overall_recall: float
    overall_f1: float
    class_precision: float
    class_recall: float
    class_f1_of_means: float
    class_f1_mean_of_f1: float


def at_threshold(scores: npt.ArrayLike, threshold: npt.ArrayLike) -> Mask:
    """[N, K] decisions: positive where the score is at least the threshold (one, or [K])."""
    values, limits = np.asarray(scores), np.asarray(threshold, dtype=np.float64)
    if limits.ndim > 1 or (limits.ndim == 1 and limits.shape != values.shape[1:]):
        raise TagfillError(
            f"thresholds of shape {limits.shape} do not fit {values.shape[1]} classes"
        )
    return np.asarray(values >= limits)


def top_k(
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    k: int,
    *,
    threshold: npt.ArrayLike | None = None,
) -> Mask:
    """[N, K] decisions: the k highest known entries of each image are positive.

    Ties go to the class of the lower number.

    Args:
        threshold: when given, a tag must also reach this score (one, or [K]).
    """
    score_array, label_array = checked(scores, labels)
    order = descending(score_array, label_array)[:, :k]
    decided = np.zeros(score_array.shape, dtype=bool)
    np.put_along_axis(decided, order, True, axis=1)
    decided &= label_array != UNKNOWN
    return decided if threshold is None else decided & at_threshold(score_array, threshold)


def descending(scores: Scores, labels: Labels) -> npt.NDArray[np.intp]:
    """[N, K] class numbers of each image by falling score, unknown entries last, ties in order."""
    return np.argsort(np.where(labels == UNKNOWN, np.inf, -scores), axis=1, kind="stable")


def count(decided: npt.ArrayLike, labels: npt.ArrayLike) -> Counts:
    """Count right and wrong decisions on known entries."""
    return Counts(
        *(kind.sum(axis=0).astype(np.float64) for kind in decision_masks(decided, labels))
    )


def decision_masks(decided: npt.ArrayLike, labels: npt.ArrayLike) -> tuple[Mask, Mask, Mask]:
    """[N, K] true positives, false positives and false negatives among known entries."""
    predicted, truth = np.asarray(decided, dtype=bool), np.asarray(labels)
    positive = truth == POSITIVE
    return predicted & positive, predicted & (truth == NEGATIVE), ~predicted & positive


def precision_recall(counts: Counts, *, empty_classes: EmptyClasses = "skip") -> PrecisionRecall:
    """Overall and per-class precision, recall and F1.

    Args:
        empty_classes: what classes without positives add to the class means (CP, CR, CF1). Their
            false positives always count in the overall metrics.
    """
    rates = {name: float(rate) for name, rate in rates_of(counts, empty_classes).items()}
    return PrecisionRecall(**rates)


def rates_of(counts: Counts, empty_classes: EmptyClasses) -> dict[str, Floats]:
    """The metrics of ``PrecisionRecall`` of counts [..., K], each [...]."""
    tp, fp, fn = (
        part.sum(axis=-1)
        for part in (counts.true_positives, counts.false_positives, counts.false_negatives)
    )
    defined = counts.true_positives + counts.false_negatives > 0
    precision, recall, f1 = (
        means_over_classes(rates, defined, empty_classes)
        for rates in (counts.precision, counts.recall, counts.f1)
    )
    return {
        "overall_precision": _ratio(tp, tp + fp),
        "overall_recall": _ratio(tp, tp + fn),
        "overall_f1": _ratio(2 * tp, 2 * tp + fp + fn),
        "class_precision": precision,
        "class_recall": recall,
        "class_f1_of_means": _ratio(2 * precision * recall, precision + recall),
        "class_f1_mean_of_f1": f1,
    }


def hamming_loss(decided: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Share of known entries decided wrongly; NaN when nothing is known."""
    known, wrong = _known_and_wrong(decided, labels)
    return float(wrong.sum() / known.sum()) if known.any() else float("nan")


def exact_match(decided: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Share of images, of those with known entries, whose known entries are all decided right."""
    known, wrong = _known_and_wrong(decided, labels)
    counted = known.any(axis=1)
    return float(1.0 - wrong[counted].any(axis=1).mean()) if counted.any() else float("nan")


def _known_and_wrong(decided: npt.ArrayLike, labels: npt.ArrayLike) -> tuple[Mask, Mask]:
    truth = np.asarray(labels)
    known: Mask = truth != UNKNOWN
    return known, np.asarray(known & (np.asarray(decided, dtype=bool) != (truth == POSITIVE)))


def _ratio(part: Floats, whole: Floats) -> Floats:
    """0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(np.shape(whole)), where=np.asarray(whole != 0))
