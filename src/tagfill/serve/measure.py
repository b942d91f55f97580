"""Metrics on photos whose tags are all known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.metrics import precision_recall_curve

from tagfill.errors import TagfillError
from tagfill.evaluate import mean_average_precision
from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Labels
from tagfill.serve.api.answers import Compared, ComparedRun, Curve, Measured
from tagfill.serve.ledger import Columns
from tagfill.serve.model import held_out_scores, spread_over
from tagfill.serve.service import Service

FEWEST = 10
"""Fewest photos for a statement."""
POINTS = 41
"""Points of a curve."""


def measured(service: Service) -> Measured:
    """How good the served model is on photos labeled in full.

    Held-out photos with complete labels in the file count, and completed photos of the random
    sample; other photos that people chose to complete are not a fair sample.
    """
    library = service.library
    rows = np.union1d(
        library.held_out[library.fully_labeled[library.held_out]],
        np.intersect1d(service.queue.guided, service.ledger.completed),
    ).astype(np.intp)
    result = Measured(photos=0, mAP=None, precision=None, recall=None)
    if len(rows) < FEWEST:
        return result
    result.photos = len(rows)
    posterior = service.model.posterior
    scores = spread_over(posterior.classes, service.ledger.columns, posterior.written)[rows]
    known = ~np.isnan(scores[0])
    labels, scores = service.ledger.values[rows][:, known], scores[:, known]
    positive, given = labels == POSITIVE, (scores >= 0.5) & (labels != UNKNOWN)
    right = (given & positive).sum()
    if given.any():
        result.precision = _finite(right / given.sum())
    if positive.any():
        result.mAP = _finite(mean_average_precision(scores, labels).mAP)
        result.recall = _finite(right / positive.sum())
    return result


def compared(service: Service, *paths: Path) -> Compared:
    """Average precision of several runs on the same held-out photos and labels.

    The truth behind masked labels is used where there is one, else what is known now.
    """
    split, columns, known = _held_out_labels(service)
    enough = bool((known == NEGATIVE).any() and (known == POSITIVE).any())
    runs = []
    for path in paths:
        scores = np.nan_to_num(held_out_scores(path, service.library, split, columns))
        result = mean_average_precision(scores, known)
        mean = _finite(result.mAP) if enough else None
        shares = [_finite(100 * ap) if enough else None for ap in result.average_precision]
        runs.append(ComparedRun(name=path.name, mAP=mean, per_class=shares))
    return Compared(split=split, photos=len(known), tags=list(columns.names), runs=runs)


def precision_curve(service: Service, path: Path, tag: str | None = None) -> Curve:
    """Precision at every recall on held-out photos, of one tag or of all tags together.

    The precision at a recall is the best one with at least this recall; the list is
    empty where the labels known do not hold both yes and no.
    """
    split, columns, known = _held_out_labels(service)
    scores = np.nan_to_num(held_out_scores(path, service.library, split, columns))
    if tag is not None:
        column = service.column(tag)
        known, scores = known[:, [column]], scores[:, [column]]
    asked = known != UNKNOWN
    labels = known[asked] == POSITIVE
    points: list[list[float]] = []
    if labels.any() and not labels.all():
        precision, recall, _ = precision_recall_curve(labels, scores[asked])
        best, reached = np.maximum.accumulate(precision[:-1])[::-1], recall[-2::-1]
        for wanted in np.linspace(0, 1, POINTS):
            place = min(int(np.searchsorted(reached, wanted)), len(best) - 1)
            points.append([round(float(wanted), 4), round(float(best[place]), 4)])
    return Curve(run=path.name, split=split, photos=len(known), tag=tag, points=points)


def _held_out_labels(service: Service) -> tuple[str, Columns, Labels]:
    """A split no model was trained on, its tags, and the known labels of its photos."""
    library = service.library
    split = next((name for name in ("test", "val") if name in library.splits), None)
    if split is None:
        raise TagfillError("no photos are held out")
    rows = library.splits[split]
    with service.current():
        columns, known = service.ledger.columns, service.ledger.values[rows]
    if library.truth is not None:
        truth = library.truth[rows]
        for source, column in enumerate(columns.sources):
            known[:, column] = truth[:, source]
    return split, columns, known


def _finite(value: float) -> float | None:
    return round(float(value), 4) if np.isfinite(value) else None
