"""Metrics on photos whose labels are complete, because somebody said so."""

from __future__ import annotations

from typing import Any

import numpy as np

from tagfill.evaluate import mean_average_precision
from tagfill.labels import POSITIVE
from tagfill.serve.service import Service

FEWEST = 10
"""Photos below which nothing is said."""


def measured(service: Service) -> dict[str, Any]:
    """How good the served model is on photos labeled in full.

    Only photos of the random sample count: those people chose to complete speak for nothing else.
    """
    rows = np.intersect1d(service.queue.guided, service.ledger.completed)
    result: dict[str, Any] = {"photos": 0, "mAP": None, "precision": None, "recall": None}
    if len(rows) < FEWEST:
        return result
    result["photos"] = len(rows)
    model, columns = service.model, service.ledger.columns
    scores = model.over(columns, model.posterior.written)[rows]
    known = ~np.isnan(scores[0])
    labels, scores = service.ledger.values[rows][:, known], scores[:, known]
    if (labels == POSITIVE).any():
        result["mAP"] = _finite(mean_average_precision(scores, labels).mAP)
    given = scores >= 0.5
    right = (given & (labels == POSITIVE)).sum()
    result["precision"] = _finite(right / given.sum()) if given.any() else None
    wanted = (labels == POSITIVE).sum()
    result["recall"] = _finite(right / wanted) if wanted else None
    return result


def _finite(value: float) -> float | None:
    return round(float(value), 4) if np.isfinite(value) else None
