"""Label counts and training curves."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from tagfill.files import JsonObject
from tagfill.labels.stats import Statistics
from tagfill.report.charts import Point, Series, line_chart
from tagfill.report.content import RunContent
from tagfill.train.data import Split


def learned(content: RunContent) -> dict[str, Any]:
    """Counts of the labels, and what was decided; no splits where the labels are gone."""
    data = content.data
    lacking = () if data is None else Statistics.of(data.train.table).without_positive
    return {
        "regime": content.metrics["regime"],
        "splits": [] if data is None else [_counts(*item) for item in data.splits.items()],
        "images": content.metrics["images"],
        "without_positive": lacking,
        "notes": list(dict.fromkeys(event["text"] for event in content.happened("note"))),
    }


def _counts(name: str, split: Split) -> dict[str, Any]:
    """``hidden`` are tags that the full labels have and the observed ones do not."""
    table = split.table
    return {
        "name": name,
        "images": len(table),
        "positives": table.positives,
        "negatives": table.negatives,
        "unknowns": table.unknowns,
        "entries": table.values.size,
        "hidden": 0 if split.truth is None else int((split.truth == 1).sum()) - table.positives,
    }


def curves(content: RunContent) -> dict[str, Any] | None:
    """Curves of loss and score over the epochs of all stages; None if nothing was noted."""
    epochs, metrics = epochs_of(content), content.metrics
    if not epochs:
        return None
    stages = sorted({event["stage"] for event in epochs})
    numbered = [event["stage"] for event in epochs]
    rules = [numbered.index(stage) + 0.5 for stage in stages[1:]]
    losses = [Point(x, event["loss"]) for x, event in enumerate(epochs, 1)]
    scored = score_points(epochs)
    best = [
        Point(x, event["score"])
        for x, event in enumerate(epochs, 1)
        if event["stage"] == stages[-1]
        and event["epoch"] == metrics["best_epoch"]
        and event.get("score") is not None
    ]
    labels = {"x_label": "epoch", "y_label": metrics["criterion"]}
    return {
        "loss": line_chart(_cut(losses, rules), x_label="epoch", y_label="loss", rules=rules),
        "score": line_chart(_cut(scored, rules), **labels, marks=best, rules=rules)
        if scored
        else None,
        **{name: metrics[name] for name in ("criterion", "best_epoch", "best_score")},
        "epochs": len(epochs),
        "stages": len(stages),
        "seconds": sum(event["seconds"] for event in epochs),
    }


def _cut(points: list[Point], rules: list[float]) -> list[Series]:
    """One line per stage: losses of two methods are not comparable."""
    bounds = [0.0, *rules, math.inf]
    pieces = [[point for point in points if low < point.x < high] for low, high in pairwise(bounds)]
    return [Series(f"stage {stage}", piece) for stage, piece in enumerate(pieces, 1) if piece]


def epochs_of(content: RunContent) -> list[JsonObject]:
    """One event per epoch; an epoch that was repeated after an interruption counts once."""
    latest: dict[tuple[int, int], Any] = {}
    for event in content.happened("epoch"):
        latest[event["stage"], event["epoch"]] = event
    return [latest[key] for key in sorted(latest)]


def score_points(epochs: list[JsonObject]) -> list[Point]:
    """The validation metric after each epoch that has one."""
    return [
        Point(x, event["score"])
        for x, event in enumerate(epochs, 1)
        if event.get("score") is not None and math.isfinite(event["score"])
    ]
