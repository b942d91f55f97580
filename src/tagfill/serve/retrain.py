"""A separate process that trains again from the reviewed labels; see ``jobs``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict

from tagfill.api.run import Run
from tagfill.errors import TagfillError
from tagfill.files import write_text
from tagfill.serve.library import library_of
from tagfill.serve.model import posterior_of
from tagfill.train import run as runs
from tagfill.train.config import DataConfig, Mode
from tagfill.train.events import Sink
from tagfill.train.resolve import Request

LABELS, PROGRESS, RESULT = "labels.csv", "progress.json", "result.json"
STEPS = {"features": 1, "training": 1, "measuring": 2, "suggestions": 3}
"""What is done in which step; photos are read only where their features are not kept."""


class Result(TypedDict):
    """How a training ended."""

    state: Literal["done", "failed"]
    message: str | None


class ProgressFile(Sink):
    """Reports the step of a training to the server, and what is counted in it."""

    every = 0.5
    """Fewest seconds between two reports of counted work."""

    def __init__(self, path: Path) -> None:
        self._path, self._reported = path, 0.0
        self._write("training")

    def event(self, kind: str, metadata: Mapping[str, Any]) -> None:
        """An epoch or all of training has ended."""
        if kind == "end":
            self._write("suggestions")
        elif kind == "epoch" and metadata["epoch"] == metadata["epochs"]:
            self._write("measuring")
        elif kind == "epoch":
            self._write("training", int(metadata["epoch"]), int(metadata["epochs"]))

    def progress(self, done: int, total: int, label: str) -> None:
        if time.monotonic() - self._reported >= self.every:
            what = "features" if label.startswith("features") else "training"
            self._write(what, done, total)

    def _write(self, label: str, done: int = 0, total: int = 0) -> None:
        self._reported = time.monotonic()
        step = {"step": STEPS[label], "steps": max(STEPS.values()), "label": label}
        write_text(self._path, json.dumps({**step, "done": done, "total": total}))


def retrain(base: Path, folder: Path, out: Path) -> None:
    """Train as the run ``base`` was, from the labels in ``folder``, where progress is written."""
    sink = ProgressFile(folder / PROGRESS)
    earlier = Run.open(base)
    request = _request(earlier, folder / LABELS)
    runs.fit(request, out, [sink])
    library = library_of(earlier.data, Path(earlier.config.data.labels))
    posterior_of(Run.open(out, [sink]), library)


def _request(earlier: Run, labels: Path) -> Request:
    """The earlier run's network and seed; the method is chosen again for the changed labels."""
    config, data = earlier.config, earlier.config.data
    mode: Mode = "linear" if earlier.stage.inputs == "features" else "finetune"
    kept = ("backbone", "head", "head_preset", "head_settings", "weights", "input_size", "lgconv")
    overrides = {name: getattr(config.model, name) for name in kept}
    if mode == "finetune":
        overrides["init"] = str(earlier.path)
    overrides = {name: value for name, value in overrides.items() if value}
    overrides |= {"seed": config.seed, "threads": config.threads}
    images = data.images
    if images is None:
        beside = Path(data.labels)
        folder = beside if beside.is_dir() else beside.parent
        images = str(folder / "images" if (folder / "images").is_dir() else folder)
    again = DataConfig(labels=str(labels), format="csv_wide", images=images, truth=data.truth)
    return Request(data=again, mode=mode, overrides=overrides)


def main(arguments: list[str]) -> int:
    """Train, and record the result."""
    base, folder, out = map(Path, arguments)
    result: Result = {"state": "failed", "message": "it was interrupted"}
    try:
        retrain(base, folder, out)
        result = {"state": "done", "message": None}
    except TagfillError as error:
        result = {"state": "failed", "message": str(error)}
    except Exception as error:  # any error is shown to the person who waits
        result = {"state": "failed", "message": f"{type(error).__name__}: {error}"}
        raise
    finally:
        write_text(folder / RESULT, json.dumps(result))
    return 0 if result["state"] == "done" else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
