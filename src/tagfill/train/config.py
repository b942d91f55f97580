"""A run's settings: frozen, saved as TOML, and enough to repeat the run.

A field with a text below it is an option of ``tagfill train`` and ``tagfill tune``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import tomli_w

from tagfill.errors import TagfillError
from tagfill.files import write_text
from tagfill.labels.formats.base import TableLayout
from tagfill.remote import url_of
from tagfill.settings import build, load_toml, plain

Mode = Literal["auto", "linear", "finetune", "linear_init", "two_stage"]
InputKind = Literal["features", "images"]
Select = Literal[
    "auto", "mAP", "known_mAP", "observed_mAP", "observed_reciprocal_rank", "loss", "last"
]
OptimizerName = Literal["adam", "adamw", "sgd", "adafactor"]
ScheduleName = Literal["constant", "one_cycle", "cosine", "step"]
Augment = Literal["flip", "strong", "strong_unflipped", "crops"]
ValSplit = Literal["stratified", "published"]
Precision = Literal["no", "fp16", "bf16"]


LARGEST = 3e38
"""Largest float32; infinity and NaN are refused."""
MOST = {
    **dict.fromkeys(("epochs", "schedule_epochs", "patience", "accumulate"), 1_000_000),
    **dict.fromkeys(("workers", "threads", "strong_views"), 1_024),
    "batch_size": 10_000_000,
    "seed": 2**63 - 1,
}
"""Beyond these no run would ever end, or begin."""


@dataclass(frozen=True)
class DataConfig(TableLayout):
    """Where labels and images are, and what is held out."""

    labels: str
    format: str | None = None
    "Name of the label format; detected by default."
    images: str | None = None
    "Folder of the images; by default beside the label file."
    features: str | None = None
    "A .npy file with one row of features per image, or a feature set of the source."
    absent: Literal["unknown", "negative"] | None = None
    "What a missing tag means, in formats that cannot state it."
    difficult: Literal["negative", "positive", "unknown"] = "negative"
    "How to count VOC objects marked difficult."
    truth: str | None = None
    "Full labels behind masked ones, for oracle methods and for evaluation."
    val: str | None = None
    "Labels of the validation images."
    test: str | None = None
    "Labels of the test images."
    val_fraction: float = 0.2
    "Share of training images held out if no validation images are given; 0 for none."
    val_split: ValSplit = "stratified"
    "How to draw them: stratified by class, or as the published MLSPL code does."
    split_seed: int = 1200

    def __post_init__(self) -> None:
        _require("val_fraction", self.val_fraction, 0, 0.95)

    def absolute(self) -> DataConfig:
        """The same with absolute paths, so that a run can be resumed from any folder."""

        def full(path: str | None) -> str | None:
            return None if path is None else url_of(path) or str(Path(path).absolute())

        return dataclasses.replace(
            self,
            labels=full(self.labels) or self.labels,
            images=full(self.images),
            features=full(self.features) if is_feature_file(self.features) else self.features,
            truth=full(self.truth),
            val=full(self.val),
            test=full(self.test),
        )


def is_feature_file(features: str | None) -> bool:
    """Whether features are a file, not a feature set of the label source."""
    return features is not None and features.endswith(".npy")


@dataclass(frozen=True)
class ModelConfig:
    backbone: str = "efficientnet_lite0"
    "See `tagfill backbones`."
    head: str = "linear"
    "What turns features into scores: linear, q2l, lem, cam, ssgrl or ml_gcn."
    head_preset: str | None = None
    head_settings: dict[str, Any] = field(default_factory=dict)
    weights: str | None = None
    "A file with the backbone's weights."
    pretrained: bool = True
    "Start from pretrained weights."
    input_size: int | None = None
    "Side of the square input in pixels."
    quality: Literal["auto", "fast", "good", "best"] = "auto"
    "Backbone and input size: fast, good, best, or auto: the best that takes five minutes."
    lgconv: bool = False
    "Give every 3x3 convolution a global branch (PU-MLC)."
    freeze_stages: int = 0
    "Number of frozen stages of the backbone."
    freeze_batchnorm: bool = False
    "Freeze BatchNorm."
    freeze_statistics: bool = False
    "Freeze the statistics of BatchNorm only, in backbone and head; its scale and shift learn."
    init: str | None = None
    "Start from the weights of an earlier run."

    def __post_init__(self) -> None:
        _require("input_size", self.input_size, 1, 16_384)
        _require("freeze_stages", self.freeze_stages, 0)


@dataclass(frozen=True)
class MethodConfig:
    """The method and its hyper-parameters."""

    name: str
    preset: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StageConfig:
    """One stage of training with one method on one kind of input."""

    method: MethodConfig
    inputs: InputKind = "features"
    epochs: int = 25
    "Passes over the training images."
    batch_size: int = 16
    "Images per step, over all processes."
    learning_rate: float = 1e-3
    "Peak learning rate."
    optimizer: OptimizerName = "adam"
    "Optimizer."
    weight_decay: float = 0.0
    "Weight decay."
    l2: float | None = None
    "Solve a linear head on fixed features directly (L-BFGS) with this L2 penalty."
    head_multiplier: float = 1.0
    "Learning rate of the head relative to the backbone."
    schedule: ScheduleName = "constant"
    "Learning-rate schedule."
    warmup: float = 0.2
    "Share of steps in which one_cycle rises to its peak."
    clip: float | None = None
    "Clip gradients to this norm."
    accumulate: int = 1
    "Batches per optimizer step."
    schedule_epochs: int | None = None
    "Epochs the schedule is planned for, if training stops before its end."
    ema: float | None = None
    "Also keep an exponential moving average of the weights with this decay."
    ema_warmup: bool = True
    "Average over few steps at first, so that the initial weights are forgotten soon."
    patience: int | None = None
    "Stop after this many epochs in a row without improvement."
    augment: Augment = "flip"
    "Augmentation of training images."
    strong_views: int = 4
    "Distorted views per image to extract features of, for methods with two views."
    strong_jitter: bool = False
    "Strong views also change colors, as LAC's published code does."
    fresh_views: bool = True
    "Distort strong views of cached features again in every epoch."

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "accumulate", "strong_views"):
            _require(name, getattr(self, name), 1)
        for name in ("learning_rate", "weight_decay", "l2", "head_multiplier", "clip", "patience"):
            _require(name, getattr(self, name), 0)
        _require("schedule_epochs", self.schedule_epochs, self.epochs)
        for name in ("warmup", "ema"):
            _require(name, getattr(self, name), 0, 1)

    @property
    def head_learning_rate(self) -> float:
        return self.learning_rate * (self.head_multiplier if self.inputs == "images" else 1.0)


@dataclass(frozen=True)
class RunConfig:
    """Everything that determines a run."""

    data: DataConfig
    stages: tuple[StageConfig, ...]
    model: ModelConfig = field(default_factory=ModelConfig)
    seed: int = 0
    "Seed of everything random."
    select: Select = "auto"
    "Criterion for the best epoch."
    precision: Precision = "no"
    "Mixed precision, for GPUs."
    workers: int = 2
    "Number of processes that read images."
    threads: int | None = None
    "Number of torch threads."
    time_limit: float | None = None
    checkpoint_seconds: float = 5.0
    "Least seconds between checkpoints at the ends of epochs."
    gradient_checkpointing: bool = False
    "Recompute activations in the backward pass: less memory, more time."
    shard: bool = False
    "Divide weights, gradients and moments among the processes when fine-tuning (FSDP)."

    def __post_init__(self) -> None:
        if not self.stages:
            raise TagfillError("a run needs a stage")
        _require("threads", self.threads, 1)
        for name in ("workers", "checkpoint_seconds", "time_limit", "seed"):
            _require(name, getattr(self, name), 0)
        if self.shard and self.precision == "fp16":
            raise TagfillError("--shard does not work with --precision fp16", remedy="use bf16")
        if self.shard and any(stage.optimizer == "adafactor" for stage in self.stages):
            raise TagfillError(
                "--shard does not work with --optimizer adafactor", remedy="use adamw or sgd"
            )


def _require(name: str, value: float | None, low: float, high: float | None = None) -> None:
    most = MOST.get(name, LARGEST) if high is None else high
    if value is not None and not low <= value <= most:
        open_ended = high is None and value < low
        between = f"at least {low:g}" if open_ended else f"between {low:g} and {most:,}"
        raise TagfillError(f"{name.replace('_', ' ')} must be {between}, got {value:g}")


def save_config(config: RunConfig, path: Path, metadata: Mapping[str, Any]) -> None:
    """Write the settings and the metadata of the run: versions, the hash of the data."""
    document = {**plain(dataclasses.asdict(config)), "metadata": dict(metadata)}
    write_text(path, tomli_w.dumps(document))


def load_config(path: Path) -> RunConfig:
    """Read settings back; an unknown key is an error."""
    document = load_toml(path)
    document.pop("metadata", None)
    config = build(RunConfig, document, path)
    assert isinstance(config, RunConfig)
    return config
