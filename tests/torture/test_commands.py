"""Commands killed at random moments: files are whole or absent, and the next try works."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest
from tests.processes import finished
from tests.torture.story import ROUNDS, disturbed

from tagfill.scenes import write_scenes

FEW = ("recover", "apply")
"""Commands that `make test` kills; `make torture` kills all."""
COMMANDS = {**dict.fromkeys(FEW, ".csv"), "export": ".onnx", "report": ".html"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on a few drawn pictures, and decisions about its suggestions."""
    folder = tmp_path_factory.mktemp("scenes")
    write_scenes(folder, 24, 64, seed=3)
    labels, run = folder / "labels.csv", folder / "run"
    masked = folder / "masked.csv"
    assert finished("mask", labels, masked, "--regime", "single_positive")[0] == 0
    words = ("--images", folder, "--input-size", "48", "--method", "an", "--epochs", "1")
    assert finished("train", masked, "--out", run, *words, "--no-report", "--quiet")[0] == 0
    found = folder / "suggestions.csv"
    assert finished("recover", run, "--out", found, "--top", "2", "--quiet")[0] == 0
    return folder


def words(name: str, place: Path, out: Path) -> tuple[str | Path, ...]:
    run = place / "run"
    if name == "recover":
        return "recover", run, "--out", out, "--top", "2", "--quiet", "--force"
    if name == "apply":
        return "apply", place / "suggestions.csv", place / "masked.csv", out, "--force"
    if name == "report":
        return "report", run, "--out", out, "--quiet"
    return "export", run, "--out", out, "--force"


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS if ROUNDS > 1 else FEW)
def test_a_killed_command_leaves_whole_files(name: str, place: Path, tmp_path: Path) -> None:
    suffix = COMMANDS[name]
    whole, out = tmp_path / f"whole{suffix}", tmp_path / "killed" / f"out{suffix}"
    out.parent.mkdir()
    began = time.monotonic()
    assert finished(*words(name, place, whole))[0] == 0
    length = time.monotonic() - began
    chance = random.Random(f"{name} {ROUNDS}")
    for _ in range(ROUNDS):
        disturbed(words(name, place, out), signal.SIGKILL, chance.uniform(0.2, 1) * length)
        assert not out.exists() or out.read_bytes() == whole.read_bytes()
    assert finished(*words(name, place, out))[0] == 0
    assert out.read_bytes() == whole.read_bytes()
    assert not [file for file in out.parent.iterdir() if file.name.startswith(".")]
