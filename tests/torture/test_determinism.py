"""The same commands twice, and with another order of the rows: the same bytes.

The default method, as a user trains it, and what is made of the run: suggestions, kept
probabilities, the report. Only times and names of folders may differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.processes import finished
from tests.torture.story import ROUNDS, model_bytes

from tagfill.scenes import write_scenes

IMAGES, WIDTH, CLASSES = 160, 24, 5
TIMED = re.compile(
    r"\d+(?:\.\d+)? (?:s|min|h)\b|less than a second|\d{4}-\d\d-\d\d \d\d:\d\d UTC|threads = \d"
)
"""What a report says about times and threads."""


def write(folder: Path, order: np.ndarray) -> tuple[Path, Path]:
    """A table of single positives and a matrix of features, rows in the given order."""
    folder.mkdir()
    generator = np.random.default_rng(0)
    classes = generator.integers(CLASSES, size=IMAGES)
    features = generator.normal(size=(IMAGES, WIDTH)).astype(np.float32)
    features[np.arange(IMAGES), classes] += 2
    header = ",".join(["image", *(f"tag{k}" for k in range(CLASSES)), "split"])
    lines = [header]
    for row in order:
        marks = ["1" if k == classes[row] else "" for k in range(CLASSES)]
        lines.append(",".join([f"{row:03}.jpg", *marks, "val" if row % 4 == 0 else "train"]))
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")
    np.save(folder / "features.npy", features[order])
    return folder / "labels.csv", folder / "features.npy"


@dataclass(frozen=True)
class Made:
    """What the commands leave behind."""

    model: str
    metrics: Mapping[str, Any]
    suggestions: str
    probabilities: bytes
    report: str


def made(labels: Path, out: Path, threads: int, *words: str | Path) -> Made:
    quiet = ("--quiet", "--no-report")
    command = ("train", labels, "--out", out, "--threads", str(threads), *words, *quiet)
    assert finished(*command) == (0, "")
    found, page = out.parent / "suggestions.csv", out.parent / "report.html"
    assert finished("recover", out, "--out", found, "--top", "3", "--quiet")[0] == 0
    assert finished("report", out, "--out", page, "--quiet")[0] == 0
    metrics = json.loads((out / "metrics.json").read_text())
    timed = ("seconds", "seconds_per_epoch", "data_hash")
    return Made(
        model_bytes(out),
        {key: value for key, value in metrics.items() if key not in timed},
        found.read_text(),
        (out / "posterior.safetensors").read_bytes(),
        TIMED.sub("", page.read_text().replace(str(out.parent), "")),
    )


def of_features(folder: Path, threads: int = 1, order: np.ndarray | None = None) -> Made:
    order = np.arange(IMAGES) if order is None else order
    labels, features = write(folder / "data", order)
    return made(labels, folder / "run", threads, "--features", features)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return of_features(tmp_path_factory.mktemp("reference"))


def test_again_with_two_threads(reference: Made, tmp_path: Path) -> None:
    assert reference.suggestions.count("\n") > IMAGES
    assert of_features(tmp_path, 2) == reference


def test_another_order_of_the_rows(reference: Made, tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(IMAGES)
    assert of_features(tmp_path, 1, order) == reference


@pytest.mark.slow
@pytest.mark.skipif(ROUNDS == 1, reason="images are read and trained on by make torture")
@pytest.mark.parametrize("mode", ["linear", "finetune"])
def test_images(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From image files, with caches of their own; fine-tuning needs the same threads."""
    write_scenes(tmp_path / "scenes", 32, 64, seed=3)
    head, *rows = (tmp_path / "scenes" / "labels.csv").read_text().splitlines()
    every = []
    for number, order in enumerate((rows, rows[::-1])):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "labels.csv").write_text("\n".join([head, *order]) + "\n")
        monkeypatch.setenv("TAGFILL_CACHE", str(folder / "cache"))
        words = ("--images", tmp_path / "scenes", "--input-size", "48", "--mode", mode)
        words += ("--epochs", "1") if mode == "finetune" else ()
        threads = 1 if mode == "finetune" else 1 + number
        every.append(made(folder / "labels.csv", folder / "run", threads, *words))
    assert every[0] == every[1]
