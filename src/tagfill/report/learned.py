"""Label counts and training curves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tagfill.labels.stats import Statistics
from tagfill.report.charts import Chart, Point, Series, line_chart
from tagfill.report.content import Metadata, RunContent
from tagfill.train.data import Split


@dataclass(frozen=True)
class SplitCounts:
    """Labels of one split.

    Args:
        name: train, val or test.
        images, positives, negatives, unknowns: how many.
        hidden: tags the full labels have and the observed ones do not, where both are there.
        fully_labeled: whether scores are compared with full labels.
    """

    name: str
    images: int
    positives: int
    negatives: int
    unknowns: int
    hidden: int | None
    fully_labeled: bool

    @property
    def entries(self) -> int:
        return self.positives + self.negatives + self.unknowns


@dataclass(frozen=True)
class Learned:
    """Summary of the training data.

    Args:
        regime: what the training labels look like.
        splits: counts, training images first; empty where the labels are gone.
        images: of every split, as the run noted them.
        without_positive: classes that cannot be learned.
        notes: what was decided, and why.
    """

    regime: str
    splits: tuple[SplitCounts, ...]
    images: dict[str, int]
    without_positive: tuple[str, ...]
    notes: tuple[str, ...]


def learned(content: RunContent) -> Learned:
    """Count the labels."""
    data = content.data
    return Learned(
        regime=content.metrics["regime"],
        splits=() if data is None else tuple(_counts(*item) for item in data.splits.items()),
        images=dict(content.metrics["images"]),
        without_positive=() if data is None else Statistics.of(data.train.table).without_positive,
        notes=tuple(dict.fromkeys(event["text"] for event in content.happened("note"))),
    )


def _counts(name: str, split: Split) -> SplitCounts:
    table = split.table
    hidden = None if split.truth is None else int((split.truth == 1).sum()) - table.positives
    return SplitCounts(
        name,
        len(table),
        table.positives,
        table.negatives,
        table.unknowns,
        hidden,
        fully_labeled=split.truth is not None or not table.unknowns,
    )


@dataclass(frozen=True)
class Curves:
    """Training curves.

    Args:
        loss: what was minimized, over epochs of all stages.
        score: the metric on validation images, where there was one.
        criterion: its name.
        best_epoch, best_score: of the last stage.
        epochs, stages: how many.
        seconds: that training took, without reading images for features.
    """

    loss: Chart
    score: Chart | None
    criterion: str
    best_epoch: int | None
    best_score: float | None
    epochs: int
    stages: int
    seconds: float


def curves(content: RunContent) -> Curves | None:
    """Curves of a run; None if nothing was noted."""
    epochs = epochs_of(content)
    if not epochs:
        return None
    stages = sorted({event["stage"] for event in epochs})
    starts = [
        min(x for x, event in enumerate(epochs, 1) if event["stage"] == stage) for stage in stages
    ]
    rules = [start - 0.5 for start in starts[1:]]
    losses = [Point(x, event["loss"]) for x, event in enumerate(epochs, 1)]
    scored = score_points(epochs)
    best = [
        Point(x, event["score"])
        for x, event in enumerate(epochs, 1)
        if event["stage"] == stages[-1]
        and event["epoch"] == content.metrics["best_epoch"]
        and event.get("score") is not None
    ]
    return Curves(
        loss=line_chart(_cut(losses, rules), x_label="epoch", y_label="loss", rules=rules),
        score=line_chart(
            _cut(scored, rules),
            x_label="epoch",
            y_label=content.metrics["criterion"],
            marks=best,
            rules=rules,
        )
        if scored
        else None,
        criterion=content.metrics["criterion"],
        best_epoch=content.metrics["best_epoch"],
        best_score=content.metrics["best_score"],
        epochs=len(epochs),
        stages=len(stages),
        seconds=sum(event["seconds"] for event in epochs),
    )


def _cut(points: list[Point], rules: list[float]) -> list[Series]:
    """One line per stage: losses of two methods are not comparable."""
    bounds = [0.0, *rules, math.inf]
    pieces = [[point for point in points if low < point.x < high] for low, high in pairwise(bounds)]
    return [Series(f"stage {stage}", piece) for stage, piece in enumerate(pieces, 1) if piece]


def epochs_of(content: RunContent) -> list[Metadata]:
    """One event per epoch; an epoch that was repeated after an interruption counts once."""
    latest: dict[tuple[int, int], Any] = {}
    for event in content.happened("epoch"):
        latest[event["stage"], event["epoch"]] = event
    return [latest[key] for key in sorted(latest)]


def score_points(epochs: list[Metadata]) -> list[Point]:
    """The validation metric after each epoch that has one."""
    return [
        Point(x, event["score"])
        for x, event in enumerate(epochs, 1)
        if event.get("score") is not None and math.isfinite(event["score"])
    ]
