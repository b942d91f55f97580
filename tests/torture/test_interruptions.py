"""Killed, terminated or interrupted at random moments: the same bytes as undisturbed."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest
from tests.torture.story import ROUNDS, disturbed, finished, leftovers, model_bytes
from tests.train.given import write_given_features

METHODS = {
    "auto": [],
    "epochs": ["--method", "role", "--epochs", "12", "--checkpoint-seconds", "0"],
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_given_features(tmp_path_factory.mktemp("given"))


def words(data: Path, out: Path, name: str) -> list[str | Path]:
    return ["train", data, "--out", out, *METHODS[name], "--quiet", "--threads", "1"]


def go_on(data: Path, out: Path, name: str) -> list[str | Path]:
    """What a user types after an interruption."""
    if (out / "config.toml").is_file():
        return ["train", "--resume", out, "--quiet"]
    return words(data, out, name)


@pytest.mark.parametrize("name", METHODS)
def test_a_run_ends_the_same_however_it_was_disturbed(
    data: Path, tmp_path: Path, name: str
) -> None:
    whole = tmp_path / "whole"
    began = time.monotonic()
    assert finished(*words(data, whole, name)) == (0, "")
    length = time.monotonic() - began
    chance = random.Random(f"{name} {ROUNDS}")
    signals = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
    for number in range(ROUNDS):
        out = tmp_path / f"disturbed-{number}"
        code = disturbed(
            words(data, out, name), signals[number % 3], chance.uniform(0.3, 1) * length
        )
        while code != 0:
            assert code != 2, "an interruption must never need a remedy"
            code = disturbed(go_on(data, out, name), signal.SIGKILL, length * chance.uniform(1, 4))
        assert model_bytes(out) == model_bytes(whole)
        assert not leftovers(out)
