"""An opened run: settings, data, model and scores, each loaded once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import torch
from torch import nn

from tagfill.arrays import Floats, Numbers
from tagfill.errors import TagfillError
from tagfill.evaluate import apply_calibration
from tagfill.models.bundle import Bundle
from tagfill.models.bundle import load as load_bundle
from tagfill.train.config import RunConfig, StageConfig
from tagfill.train.data import Sources, Split, TrainingData, prepare, without_unreadable
from tagfill.train.events import Events, Sink
from tagfill.train.folder import RunFolder
from tagfill.train.model import Assembly
from tagfill.train.processes import World
from tagfill.train.processes import scores as compute_scores
from tagfill.train.score import read_scores, scores_key, write_scores


class TrainedRun:
    """A run folder with its data, model and scores, each read once on first use.

    Args:
        data: what it was trained on, where that has been read already.
        metrics: those of the end of training, where they are known.
    """

    def __init__(
        self,
        folder: RunFolder,
        config: RunConfig,
        *,
        data: TrainingData | None = None,
        metrics: Mapping[str, Any] | None = None,
        sinks: Sequence[Sink] = (),
    ) -> None:
        self.folder, self.config, self.sinks = folder, config, tuple(sinks)
        self._scores: dict[str, Numbers] = {}
        known = {"data": data, "metrics": metrics}  # values of the cached properties
        self.__dict__.update({name: value for name, value in known.items() if value is not None})

    @classmethod
    def open(cls, path: str | Path, sinks: Sequence[Sink] = ()) -> Self:
        """Open a run folder."""
        folder, config = RunFolder.open(Path(path))
        return cls(folder, config, sinks=sinks)

    @classmethod
    def of(cls, run: str | Path | TrainedRun, sinks: Sequence[Sink] = ()) -> TrainedRun:
        """The run itself, or the one of a folder."""
        return run if isinstance(run, TrainedRun) else cls.open(run, sinks)

    @classmethod
    def adopt(cls, run: TrainedRun) -> Self:
        """The same run, with its loaded data, as an object of this class."""
        adopted = cls.__new__(cls)
        adopted.__dict__.update(vars(run))
        return adopted

    @classmethod
    def of_model(cls, model: Path) -> Self | None:
        """The run a model belongs to; a model folder alone has none."""
        return cls.open(model) if RunFolder(model).config.is_file() else None

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.folder.path

    @property
    def name(self) -> str:
        """Name of the run."""
        return self.path.resolve().name

    @property
    def stage(self) -> StageConfig:
        """The last stage of training."""
        return self.config.stages[-1]

    @cached_property
    def metrics(self) -> Mapping[str, Any]:
        """Metrics at the end of training."""
        return self.folder.read_metrics()

    @cached_property
    def metadata(self) -> Mapping[str, Any]:
        """Metadata of the start: time, versions, command, hash of the data."""
        return self.folder.read_metadata()

    @cached_property
    def events(self) -> Sequence[Mapping[str, Any]]:
        """Events of training."""
        return self.folder.read_events()

    @cached_property
    def data(self) -> TrainingData:
        """The data the run was trained and evaluated on, unchanged since.

        Raises:
            TagfillError: the labels or images are gone, or the labels have changed.
        """
        data = without_unreadable(prepare(self.config.data))
        if data.content_hash != self.metrics["data_hash"]:
            raise TagfillError(
                "the labels have changed since the run",
                file=self.config.data.labels,
                remedy="train again, with --init to begin from this run's weights",
            )
        return data

    @cached_property
    def model(self) -> Bundle:
        """The trained model."""
        return load_bundle(self.folder.model)

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the K classes."""
        return self.model.classes

    @property
    def image_folder(self) -> Path | None:
        """The image folder, if training had one."""
        images = self.config.data.images
        return None if images is None else Path(images)

    @property
    def device(self) -> torch.device:
        """Where the network runs."""
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    @cached_property
    def assembly(self) -> Assembly:
        """The trained network with its inputs."""
        network = self.model.network.to(self.device).eval()
        return Assembly(self.config, self.data, self.device, Events(*self.sinks), network=network)

    @property
    def module(self) -> nn.Module:
        """The module of the last stage: the head, or the whole network."""
        network = self.model.network.to(self.device)
        if self.stage.inputs == "features":
            return network.head
        network.backbone.build()
        return network

    def split(self, name: str) -> Split:
        """The images of one split: train, val or test."""
        splits = self.data.splits
        if name not in splits:
            raise TagfillError(
                f"the run has no {name} images",
                file=self.path,
                remedy=f"it has {', '.join(splits)}",
            )
        return splits[name]

    @property
    def evaluated_split(self) -> str:
        """Test images if any, else validation images."""
        for name in ("test", "val"):
            if name in self.data.splits:
                return name
        raise TagfillError("the run has neither test nor validation images", file=self.path)

    def scores(self, split: str) -> Numbers:
        """[N, K] logits of the images of a split: computed once, and stored in the run folder."""
        if split not in self._scores:
            self._scores[split] = self._stored_or_computed(split)
        return self._scores[split]

    def probabilities(self, split: str) -> Floats:
        """[N, K] calibrated, where the run could calibrate."""
        return apply_calibration(self.scores(split), self.model.calibration)

    def trained_on(self, split: Split, sources: Sources | None = None) -> int:
        """How many of the images the run was trained on, if its data still exist.

        Args:
            sources: label files that have been read already, with the settings of the run.
        """
        try:
            train = prepare(self.config.data, sources).train
        except TagfillError:
            return 0
        seen = {path.resolve() for path in train.paths or ()}
        return sum(path.resolve() in seen for path in split.paths or ())

    def _stored_or_computed(self, name: str) -> Numbers:
        split, file = self.split(name), self.folder.scores(name)
        key = scores_key(self.folder.model, split)
        stored = read_scores(file, key)
        if stored is not None and stored.shape == (len(split), len(self.classes)):
            return stored
        with self.assembly.events:
            inputs = self.assembly.inputs(split, self.stage)
            logits: Numbers = compute_scores(self.module, inputs, World(), self.device).numpy()
        if World.current().is_main:
            with suppress(TagfillError):  # the run folder may be read-only
                write_scores(file, key, logits)
        return logits
