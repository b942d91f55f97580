"""The shape of what a run folder records, as far as other commands rely on it.

A run folder may be damaged or come from anyone, so its records are compared with these types when
they are read. Keys that are not named here may hold anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

Rates = dict[str, float | None]


class ClassMetrics(TypedDict):
    """Metrics of one class."""

    name: str
    positives: int
    average_precision: float | None


class SplitMetrics(TypedDict, total=False):
    """Metrics of held-out images."""

    mAP: float | None
    observed_mAP: float | None
    mAP_by_definition: Rates
    at_threshold: Rates
    at_fitted_thresholds: Rates | None
    estimated: Rates | None
    per_class: list[ClassMetrics] | None


class RunMetrics(TypedDict):
    """``metrics.json``."""

    method: str
    regime: str
    criterion: str | None
    best_epoch: int | None
    best_score: float | None
    parameters: int
    images: dict[str, int]
    data_hash: str
    val: NotRequired[SplitMetrics | None]
    test: NotRequired[SplitMetrics | None]


class RunMetadata(TypedDict, total=False):
    """The table ``metadata`` of ``config.toml``."""

    started: str
    python: str
    versions: dict[str, str]


class PositionMetadata(TypedDict):
    """Where training continues."""

    epoch: int
    batch: int
    step: int
    sums: dict[str, float]


class EpochRecord(TypedDict):
    """A past epoch in a checkpoint."""

    seconds: float


class CheckpointMetadata(TypedDict):
    """What is in a checkpoint beside tensors."""

    stage: int
    data_hash: str
    position: PositionMetadata
    history: list[EpochRecord]
    best_weights: str


class EpochEvent(TypedDict):
    """An epoch in ``events.jsonl``."""

    stage: int
    epoch: int
    loss: float
    score: NotRequired[float | None]
    seconds: float


class NoteEvent(TypedDict):
    """A note in ``events.jsonl``."""

    text: str


EVENTS: Mapping[str, Any] = {"epoch": EpochEvent, "note": NoteEvent}
