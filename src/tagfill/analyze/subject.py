"""Finished runs as figures need them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.special import expit

from tagfill.analyze.kinds import CannotDrawError
from tagfill.arrays import Floats, Mask
from tagfill.labels import UNKNOWN, Labels
from tagfill.methods.base import Method
from tagfill.train.data import Split
from tagfill.train.method import make_method
from tagfill.train.trained import TrainedRun


class RunView(TrainedRun):
    """A finished run and its name in figures; a figure whose data are missing is skipped."""

    label: str | None = None

    @classmethod
    def named(cls, path: Path, label: str) -> Self:
        """Open a run folder."""
        run = cls.open(path)
        run.label = label
        return run

    @property
    def name(self) -> str:
        return self.label or super().name

    @cached_property
    def epochs(self) -> list[Mapping[str, Any]]:
        """The log of every epoch of every stage, in order."""
        return [event for event in self.events if event["event"] == "epoch"]

    def new_method(self) -> Method:
        """The method of the last stage, not started."""
        return make_method(self.stage)

    @property
    def evaluated_split(self) -> str:
        """Test images if any, else validation images."""
        for name in ("test", "val"):
            if name in self.data.splits:
                return name
        raise CannotDrawError(f"{self.name} has neither test nor validation images")

    def split(self, name: str) -> Split:
        """The images of one split."""
        if name not in self.data.splits:
            raise CannotDrawError(f"{self.name} has no {name} images")
        return super().split(name)

    def raw_probabilities(self, split: str) -> Floats:
        """[N, K] of a split's images, not calibrated."""
        raw: Floats = expit(self.scores(split).astype(np.float64))
        return raw

    def train_truth(self) -> Labels:
        """[N, K] the full labels of the training images; an error if they are unknown."""
        truth = self.data.train.truth
        if truth is None:
            why = f"the full labels of {self.name} are not known (train with --truth)"
            raise CannotDrawError(why)
        return truth

    @property
    def unobserved(self) -> Mask:
        """[N, K] unknown training labels."""
        unknown: Mask = self.data.train.table.values == UNKNOWN
        if not unknown.any():
            raise CannotDrawError(f"all training labels of {self.name} are observed")
        return unknown

    def logged(self, key: str) -> list[Any]:
        """One value of each epoch's log."""
        values = [epoch.get(key) for epoch in self.epochs]
        if not values or all(value is None for value in values):
            raise CannotDrawError(f"the log of {self.name} has no {key.replace('_', ' ')}")
        return values


@dataclass(frozen=True, eq=False)
class Subject:
    """Runs and options of the figures.

    Args:
        runs: the first one is what others are compared with.
        methods: losses for ``gradients``, such as ``em`` or ``em:alpha=1``.
        classes: classes for ``densities``; the most frequent ones by default.
        images: how many images ``attention`` and ``bars`` show.
        points: points along each side of ``landscape``; by default what is quick.
    """

    runs: Sequence[RunView] = ()
    methods: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    images: int = 4
    points: int | None = None

    def some(self) -> Sequence[RunView]:
        """The runs, at least one."""
        if not self.runs:
            raise CannotDrawError("it needs a run")
        return self.runs

    def several(self) -> Sequence[RunView]:
        """The runs, at least two over the same classes."""
        if len(self.runs) < 2:
            raise CannotDrawError("it needs two runs to compare")
        if len({run.data.classes for run in self.runs}) > 1:
            raise CannotDrawError("the runs have different classes")
        return self.runs


def open_runs(paths: Iterable[Path]) -> list[RunView]:
    """Open run folders; runs of the same name also show the folder above."""
    paths = list(paths)
    full = [path.resolve() for path in paths]
    names = [path.name for path in full]
    return [
        RunView.named(path, name if names.count(name) == 1 else f"{whole.parent.name}/{name}")
        for path, whole, name in zip(paths, full, names, strict=True)
    ]
