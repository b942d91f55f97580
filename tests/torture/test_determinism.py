"""The same command twice, and with another order of the rows: the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.processes import finished
from tests.torture.story import model_bytes

IMAGES, WIDTH, CLASSES = 160, 24, 5


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


def trained(data: tuple[Path, Path], out: Path, threads: int) -> tuple[str, object]:
    labels, features = data
    words = ("train", labels, "--features", features, "--out", out, "--threads", str(threads))
    code, errors = finished(*words, "--quiet", "--no-report")
    assert code == 0, errors
    metrics = json.loads((out / "metrics.json").read_text())
    timed = ("seconds", "seconds_per_epoch", "data_hash")
    return model_bytes(out), {k: v for k, v in metrics.items() if k not in timed}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, object]:
    folder = tmp_path_factory.mktemp("reference")
    return trained(write(folder / "data", np.arange(IMAGES)), folder / "run", 1)


def test_again_with_two_threads(reference: tuple[str, object], tmp_path: Path) -> None:
    data = write(tmp_path / "data", np.arange(IMAGES))
    assert trained(data, tmp_path / "run", 2) == reference


def test_another_order_of_the_rows(reference: tuple[str, object], tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(IMAGES)
    assert trained(write(tmp_path / "data", order), tmp_path / "run", 1) == reference
