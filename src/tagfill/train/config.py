"""A run's settings: frozen, saved as TOML, and enough to repeat the run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import tomli_w

from tagfill.errors import TagfillError
from tagfill.files import write_text
from tagfill.settings import build, load_toml, plain
from tagfill.train.optim import OptimizerName, ScheduleName

InputKind = Literal["features", "images"]
Select = Literal[
    "auto", "mAP", "known_mAP", "observed_mAP", "observed_reciprocal_rank", "loss", "last"
]
Augment = Literal["flip", "strong", "crops"]
ValSplit = Literal["stratified", "published"]
Precision = Literal["no", "fp16", "bf16"]


@dataclass(frozen=True)
class DataConfig:
    """Where labels and images are, and what is held out."""

    labels: str
    format: str | None = None
    images: str | None = None
    features: str | None = None
    absent: str | None = None
    difficult: str = "negative"
    truth: str | None = None
    val: str | None = None
    test: str | None = None
    val_fraction: float = 0.2
    val_split: ValSplit = "stratified"
    split_seed: int = 1200
    image_column: str | None = None
    tags_columns: tuple[str, ...] = ()
    separator: str | None = None
    ignore_columns: tuple[str, ...] = ()
    hierarchy: str | None = None

    def __post_init__(self) -> None:
        _require("val_fraction", self.val_fraction, 0, 0.95)

    def absolute(self) -> DataConfig:
        """The same with paths that hold from any folder, so that a run can be resumed from any."""

        def full(path: str | None) -> str | None:
            return None if path is None else str(Path(path).absolute())

        return dataclasses.replace(
            self,
            labels=str(Path(self.labels).absolute()),
            images=full(self.images),
            features=full(self.features) if is_feature_file(self.features) else self.features,
            truth=full(self.truth),
            val=full(self.val),
            test=full(self.test),
        )


def is_feature_file(features: str | None) -> bool:
    """Whether features are named by their file, not by the name of a set in the label source."""
    return features is not None and features.endswith(".npy")


@dataclass(frozen=True)
class ModelConfig:
    """The network."""

    backbone: str = "efficientnet_lite0"
    head: str = "linear"
    head_preset: str | None = None
    head_settings: dict[str, Any] = field(default_factory=dict)
    weights: str | None = None
    pretrained: bool = True
    input_size: int | None = None
    lgconv: bool = False
    freeze_stages: int = 0
    freeze_batchnorm: bool = False
    init: str | None = None


@dataclass(frozen=True)
class MethodConfig:
    """The method and its hyper-parameters."""

    name: str
    preset: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StageConfig:
    """One stretch of training with one method on one kind of input."""

    method: MethodConfig
    inputs: InputKind = "features"
    epochs: int = 25
    batch_size: int = 16
    learning_rate: float = 1e-3
    optimizer: OptimizerName = "adam"
    weight_decay: float = 0.0
    head_multiplier: float = 1.0
    schedule: ScheduleName = "constant"
    warmup: float = 0.2
    clip: float | None = None
    accumulate: int = 1
    ema: float | None = None
    patience: int | None = None
    augment: Augment = "flip"
    strong_views: int = 4

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "accumulate", "strong_views"):
            _require(name, getattr(self, name), 1)
        for name in ("learning_rate", "weight_decay", "head_multiplier", "clip", "patience"):
            _require(name, getattr(self, name), 0)
        for name in ("warmup", "ema"):
            _require(name, getattr(self, name), 0, 1)


@dataclass(frozen=True)
class RunConfig:
    """Everything that determines a run."""

    data: DataConfig
    stages: tuple[StageConfig, ...]
    model: ModelConfig = field(default_factory=ModelConfig)
    seed: int = 0
    select: Select = "auto"
    precision: Precision = "no"
    workers: int = 2
    threads: int | None = None
    time_limit: float | None = None
    checkpoint_seconds: float = 5.0
    gradient_checkpointing: bool = False
    shard: bool = False

    def __post_init__(self) -> None:
        if not self.stages:
            raise TagfillError("a run needs a stage")
        if self.shard and self.precision == "fp16":
            raise TagfillError("--shard does not go with --precision fp16", remedy="use bf16")
        if self.shard and any(each.optimizer == "adafactor" for each in self.stages):
            raise TagfillError(
                "--shard does not go with --optimizer adafactor", remedy="use adamw or sgd"
            )


def _require(name: str, value: float | None, low: float, high: float = float("inf")) -> None:
    if value is not None and not low <= value <= high:
        between = f"at least {low:g}" if high == float("inf") else f"between {low:g} and {high:g}"
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
