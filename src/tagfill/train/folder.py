"""The run folder: where everything about a run is kept."""

from __future__ import annotations

import json
import platform
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tagfill.errors import TagfillError
from tagfill.files import write_json
from tagfill.train.config import RunConfig, load_config, save_config

RUNS = Path("tagfill-runs")
GIVEN = "given"
"""Folder inside a run folder with labels and features that came from memory."""
_RECORDED = ("tagfill", "torch", "timm", "accelerate", "numpy")


@dataclass(frozen=True)
class RunFolder:
    """Paths inside a run folder."""

    path: Path

    @property
    def config(self) -> Path:
        """The resolved settings."""
        return self.path / "config.toml"

    @property
    def events(self) -> Path:
        """What happened."""
        return self.path / "events.jsonl"

    @property
    def metrics(self) -> Path:
        """The metrics of a finished run."""
        return self.path / "metrics.json"

    @property
    def checkpoint(self) -> Path:
        """Where an interrupted run goes on from."""
        return self.path / "checkpoints" / "last.safetensors"

    @property
    def model(self) -> Path:
        """The bundle."""
        return self.path / "model"

    def scores(self, split: str) -> Path:
        """The model's scores of the images of a split."""
        return self.path / "scores" / f"{split}.safetensors"

    @property
    def is_finished(self) -> bool:
        """Whether the run reached its end."""
        return self.metrics.is_file()

    @classmethod
    def create(cls, path: Path, config: RunConfig, metadata: Mapping[str, Any]) -> RunFolder:
        """Make a new run folder; one that holds a run already is left alone."""
        folder = cls(path)
        if folder.config.exists():
            raise TagfillError(
                "there is a run already",
                file=path,
                remedy=f"go on with `tagfill train --resume {path}`, or choose another --out",
            )
        if path.is_dir() and any(file.name != GIVEN for file in path.iterdir()):
            raise TagfillError("is not empty", file=path, remedy="choose another --out")
        path.mkdir(parents=True, exist_ok=True)
        save_config(config, folder.config, {**metadata, **_environment()})
        return folder

    @classmethod
    def open(cls, path: Path) -> tuple[RunFolder, RunConfig]:
        """An existing run folder and its settings."""
        folder = cls(path)
        if not folder.config.is_file():
            raise TagfillError(
                "is not a run folder (no config.toml)",
                file=path,
                remedy="name the folder that `tagfill train` printed last",
            )
        return folder, load_config(folder.config)

    def settle(self, config: RunConfig, metadata: Mapping[str, Any]) -> None:
        """Write the settings again, now that nothing is left open; other metadata stay."""
        before = tomllib.loads(self.config.read_text(encoding="utf-8"))["metadata"]
        save_config(config, self.config, {**before, **metadata})

    def write_metrics(self, metrics: Mapping[str, Any]) -> None:
        """Write the metrics; the file is there only when the run is finished."""
        write_json(self.metrics, metrics, default=_plain)

    def read_events(self) -> list[dict[str, Any]]:
        """The log; an epoch that a crash made it repeat counts once, as it was the last time."""
        found: dict[object, dict[str, Any]] = {}
        for number, event in enumerate(_whole_lines(self.events)):
            repeated = event["event"] == "epoch"
            found[(event["stage"], event["epoch"]) if repeated else number] = event
        return list(found.values())

    def read_metrics(self) -> dict[str, Any]:
        """The metrics of a finished run."""
        if not self.is_finished:
            raise TagfillError(
                "the run is not finished",
                file=self.path,
                remedy=f"go on with `tagfill train --resume {self.path}`",
            )
        metrics: dict[str, Any] = json.loads(self.metrics.read_text(encoding="utf-8"))
        return metrics


def _whole_lines(file: Path) -> Iterator[dict[str, Any]]:
    """A crash may have cut the last line short."""
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        try:
            yield json.loads(line)
        except ValueError:
            continue


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


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
