"""The run folder: all files of a run, and the shape of what they record.

A run folder may be damaged or come from anyone, so its records are compared with types when they
are read, as far as other commands rely on them. Keys that are not named may hold anything.
"""

from __future__ import annotations

import json
import math
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

from filelock import FileLock, Timeout

from tagfill.errors import TagfillError
from tagfill.files import read_text, remove_leftovers, unlinked
from tagfill.settings import load_toml, misfit
from tagfill.train.config import RunConfig, load_config, save_config

Rates = dict[str, float | None]
RUNS = Path("tagfill-runs")
LOCK = ".lock"
GIVEN = "given"
"""Folder inside a run folder with labels and features given in memory."""
_RECORDED = ("tagfill", "torch", "timm", "accelerate", "numpy")


class ClassMetrics(TypedDict):
    name: str
    positives: int
    average_precision: float | None


class SplitMetrics(TypedDict, total=False):
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


class RunFolder:
    """Paths inside a run folder; an interrupted run continues from ``checkpoint``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.toml"
        self.events = path / "events.jsonl"
        self.metrics = path / "metrics.json"
        self.checkpoint = path / "checkpoints" / "last.safetensors"
        self.previous_checkpoint = path / "checkpoints" / "previous.safetensors"
        self.model = path / "model"

    def scores(self, split: str) -> Path:
        return self.path / "scores" / f"{split}.safetensors"

    @property
    def is_finished(self) -> bool:
        """Whether the run reached its end, and nobody deleted its model."""
        return self.metrics.is_file() and (self.model / "model.json").is_file()

    @contextmanager
    def lock(self, enabled: bool = True) -> Iterator[None]:
        """Keep every other process from training in this folder.

        Temporary files that a process left here when it was killed are removed.
        """
        if not enabled:
            yield
            return
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(unlinked(self.path / LOCK), timeout=0)
            lock.acquire()
        except Timeout:
            raise TagfillError(
                "another process is training here",
                file=self.path,
                remedy="wait for it, stop it, or choose another --out",
            ) from None
        except OSError as error:
            raise TagfillError(f"cannot be written ({error.strerror})", file=self.path) from error
        try:
            remove_leftovers(self.path, older_than=0)
            yield
        finally:
            (self.path / LOCK).unlink(missing_ok=True)
            lock.release()
            with suppress(OSError):
                self.path.rmdir()  # succeeds only if nothing was written

    def create(self, config: RunConfig, metadata: Mapping[str, Any]) -> None:
        """Start a new run; a folder with a run, or with anything else, is refused."""
        self.require_free()
        save_config(config, self.config, {**metadata, **_environment()})

    def require_free(self) -> None:
        """Refuse a folder with a run, or with anything else."""
        if self.config.exists():
            raise TagfillError(
                "this folder already has a run",
                file=self.path,
                remedy=f"continue with `tagfill train --resume {self.path}`, or use another --out",
            )
        inside = list(self.path.iterdir()) if self.path.is_dir() else []
        if any(file.name not in (GIVEN, LOCK) for file in inside):
            raise TagfillError("is not empty", file=self.path, remedy="choose another --out")

    def discard_start(self) -> None:
        """Delete the files of a run that failed before its first checkpoint."""
        if self.checkpoint.is_file():
            return
        for file in (self.config, self.events):
            file.unlink(missing_ok=True)
        for folder in (self.checkpoint.parent, self.path / GIVEN):
            shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            self.path.rmdir()

    @classmethod
    def open(cls, path: Path) -> tuple[RunFolder, RunConfig]:
        folder = cls(path)
        if not folder.config.is_file():
            raise TagfillError(
                "is not a run folder (no config.toml)",
                file=path,
                remedy="give the folder that `tagfill train` printed at the end",
            )
        return folder, load_config(folder.config)

    def settle(self, config: RunConfig, metadata: Mapping[str, Any]) -> None:
        """Write the final settings; other metadata stay."""
        metadata = {**self.read_metadata(), **metadata}
        save_config(config, unlinked(self.config), metadata)

    def read_metadata(self) -> dict[str, Any]:
        """Metadata of the start: time, versions, command; none if they are damaged."""
        metadata = load_toml(self.config).get("metadata", {})
        return {} if misfit(RunMetadata, metadata) else metadata

    def read_events(self) -> list[dict[str, Any]]:
        """The log; an epoch repeated after a crash counts once, by its last record."""
        events: dict[object, dict[str, Any]] = {}
        for number, event in enumerate(_whole_lines(self.events)):
            repeated = event["event"] == "epoch"
            key = (str(event.get("stage")), str(event.get("epoch")))
            events[key if repeated else number] = event
        return list(events.values())

    def read_metrics(self) -> dict[str, Any]:
        if not self.is_finished:
            raise TagfillError(
                "the run is not finished",
                file=self.path,
                remedy=f"continue with `tagfill train --resume {self.path}`",
            )
        metrics = _parsed(read_text(self.metrics, errors="replace"))
        fault = misfit(RunMetrics, metrics)
        if fault:
            raise TagfillError(
                f"is damaged ({fault} is not what it should be)",
                file=self.metrics,
                remedy=f"delete it, then `tagfill train --resume {self.path}` measures again",
            )
        return cast(dict[str, Any], metrics)


def _whole_lines(file: Path) -> Iterator[dict[str, Any]]:
    """Events of a log; a line cut off by a crash, or with something else in it, is skipped."""
    text = read_text(file, errors="replace") if file.is_file() else ""
    for line in text.splitlines():
        event = _parsed(line)
        kind = event.get("event") if isinstance(event, dict) else None
        if isinstance(kind, str) and not misfit(EVENTS.get(kind, dict[str, Any]), event):
            yield event


def _parsed(text: str) -> Any:
    """A JSON document, with None for numbers that are not finite; None if it is none."""
    try:
        return json.loads(text, parse_constant=lambda _: None, parse_float=_finite)
    except (ValueError, RecursionError):
        return None


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def free_path(name: str) -> Path:
    """A folder under ``tagfill-runs`` that does not exist yet."""
    path, number = RUNS / name, 2
    while path.exists():
        path, number = RUNS / f"{name}-{number}", number + 1
    return path


def _environment() -> dict[str, Any]:
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "command": " ".join(Path(word).name if not i else word for i, word in enumerate(sys.argv)),
        "versions": {name: version(name) for name in _RECORDED},
    }
