"""The content of a report, read from a run folder and the data it points to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from tagfill.arrays import Floats, Mask, Matrix
from tagfill.errors import TagfillError
from tagfill.evaluate import apply_calibration, at_threshold
from tagfill.files import JsonObject
from tagfill.labels import NEGATIVE, Labels
from tagfill.models.bundle import Bundle, description
from tagfill.models.tagging import UNFITTED
from tagfill.train.data import Split, TrainingData
from tagfill.train.events import Sink
from tagfill.train.trained import TrainedRun


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The test or validation images and their scores."""

    name: str
    split: Split
    logits: Matrix
    bundle: Bundle

    @property
    def labels(self) -> Labels:
        """[N, K] what scores are compared with."""
        return self.split.eval_labels

    @property
    def has_negatives(self) -> bool:
        """Whether precision can be measured."""
        return bool((self.labels == NEGATIVE).any())

    @cached_property
    def probabilities(self) -> Floats:
        """[N, K] calibrated, where the run could."""
        return apply_calibration(self.logits, self.bundle.calibration)

    @property
    def thresholds(self) -> Floats:
        """[K] least probability of a predicted tag."""
        fitted = self.bundle.thresholds
        return np.full(len(self.bundle.classes), UNFITTED) if fitted is None else np.array(fitted)

    @cached_property
    def decided(self) -> Mask:
        return at_threshold(self.probabilities, self.thresholds)


@dataclass(frozen=True, eq=False)
class RunContent:
    """A finished run.

    Args:
        data: the labels, if unchanged.
        held_out: scored splits by name.
        gaps: what could not be read, and why.
    """

    run: TrainedRun
    metrics: JsonObject
    events: Sequence[JsonObject]
    described: JsonObject
    bundle: Bundle | None
    data: TrainingData | None
    held_out: Mapping[str, HeldOut]
    gaps: tuple[str, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(self.described["classes"])

    @property
    def evaluated_name(self) -> str | None:
        """The split metrics are of: test images, or else validation images."""
        return next((name for name in ("test", "val") if self.metrics.get(name)), None)

    @property
    def evaluated(self) -> HeldOut | None:
        """The scored images metrics are of."""
        return self.held_out.get(self.evaluated_name or "")

    @property
    def reads_images(self) -> bool:
        """Whether the input is images, not given features."""
        return bool(self.described["network"]["backbone"]["library"] != "features")

    def happened(self, kind: str) -> list[JsonObject]:
        return [event for event in self.events if event["event"] == kind]


def read_run(run: str | Path | TrainedRun, sinks: Sequence[Sink] = ()) -> RunContent:
    """Open a run with its held-out images and their scores."""
    opened = TrainedRun.of(run, sinks)
    metrics = opened.metrics
    gaps: tuple[str, ...] = ()
    bundle, data, held_out = None, None, {}
    try:
        bundle = opened.model
        data = opened.data
        held_out = {
            name: HeldOut(name, split, opened.scores(name), bundle)
            for name, split in data.splits.items()
            if name != "train"
        }
    except (TagfillError, OSError) as error:
        gaps = (str(error),)
    described = description(opened.folder.model)
    return RunContent(opened, metrics, opened.events, described, bundle, data, held_out, gaps)
