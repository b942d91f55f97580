"""What figures are made of: finished runs, opened as far as a figure needs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import expit
from torch import nn

from tagfill import methods
from tagfill.analyze.kinds import CannotDrawError
from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import Floats
from tagfill.labels import UNKNOWN, Labels
from tagfill.methods.base import Method
from tagfill.models.bundle import Bundle
from tagfill.models.bundle import load as load_bundle
from tagfill.train.assemble import Assembly
from tagfill.train.config import StageConfig
from tagfill.train.data import Split, TrainingData, prepare, without_unreadable
from tagfill.train.events import Events
from tagfill.train.folder import RunFolder
from tagfill.train.gather import World
from tagfill.train.inputs import scores

Mask = npt.NDArray[np.bool_]


class RunView:
    """A finished run; data, model and scores are loaded when first asked for."""

    def __init__(self, path: Path, name: str) -> None:
        self.folder, self.config = RunFolder.open(path)
        self.metrics = self.folder.read_metrics()
        self.name = name
        self._scores: dict[str, Floats] = {}

    @property
    def stage(self) -> StageConfig:
        """The last stage."""
        return self.config.stages[-1]

    @cached_property
    def epochs(self) -> list[dict[str, Any]]:
        """The log of every epoch of every stage, in order."""
        return [event for event in self.folder.read_events() if event["event"] == "epoch"]

    @cached_property
    def data(self) -> TrainingData:
        """What the run learnt from and was judged by."""
        data = without_unreadable(prepare(self.config.data))
        if data.content_hash != self.metrics["data_hash"]:
            raise TagfillError("the labels have changed since the run", file=self.folder.path)
        return data

    @cached_property
    def bundle(self) -> Bundle:
        """The trained model."""
        return load_bundle(self.folder.model)

    @cached_property
    def assembly(self) -> Assembly:
        """The trained network with its inputs."""
        return Assembly(
            self.config, self.data, self.device, Events(), network=self.bundle.network.eval()
        )

    @cached_property
    def module(self) -> nn.Module:
        """What the last stage trained: the head, or the whole network."""
        return self.assembly.trained_module(self.stage, self.new_method().needs).to(self.device)

    def new_method(self) -> Method:
        """The method of the last stage, not started."""
        config = self.stage.method
        return methods.make(config.name, config.settings, config.preset)

    @property
    def device(self) -> torch.device:
        """Where the network runs."""
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    @property
    def evaluated_split(self) -> str:
        """The test images where there are any, else the validation images."""
        for name in ("test", "val"):
            if name in self.data.splits:
                return name
        raise CannotDrawError(f"{self.name} has neither test nor validation images")

    def split(self, name: str) -> Split:
        """The images of one purpose."""
        if name not in self.data.splits:
            raise CannotDrawError(f"{self.name} has no {name} images")
        return self.data.splits[name]

    def probabilities(self, split: str) -> Floats:
        """[N, K] of a split's images, not calibrated."""
        if split not in self._scores:
            inputs = self.assembly.inputs(self.split(split), self.stage)
            logits = scores(self.module, inputs, World(), self.device)
            self._scores[split] = expit(logits.double().numpy())
        return self._scores[split]

    def train_truth(self) -> Labels:
        """[N, K] the full labels of the training images; they must be known."""
        truth = self.data.train.truth
        if truth is None:
            raise CannotDrawError(
                f"the full labels of {self.name} are not known (train with --truth)"
            )
        return truth

    @property
    def unobserved(self) -> Mask:
        """[N, K] training labels nobody wrote."""
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
    """What to look at.

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
        """The runs; there must be one."""
        if not self.runs:
            raise CannotDrawError("it needs a run")
        return self.runs

    def several(self) -> Sequence[RunView]:
        """The runs; there must be two, over the same classes."""
        if len(self.runs) < 2:
            raise CannotDrawError("it needs two runs to compare")
        if len({run.data.classes for run in self.runs}) > 1:
            raise CannotDrawError("the runs have different classes")
        return self.runs


def open_runs(paths: Iterable[Path]) -> list[RunView]:
    """Open run folders; those of the same name are told apart by the folder above."""
    paths = list(paths)
    names = [path.resolve().name for path in paths]
    return [
        RunView(path, name if names.count(name) == 1 else f"{path.resolve().parent.name}/{name}")
        for path, name in zip(paths, names, strict=True)
    ]
