"""Killed, terminated or interrupted at random moments: the same bytes as undisturbed."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.processes import finished
from tests.torture.story import ROUNDS, disturbed, leftovers, model_bytes
from tests.train.given import write_given_features

from tagfill.scenes import write_scenes

METHODS = {
    "auto": [],
    "epochs": ["--method", "role", "--epochs", "12", "--checkpoint-seconds", "0", "--no-report"],
}


IMAGES = ("--input-size", "48", "--epochs", "2", "--checkpoint-seconds", "0", "--no-report")
MODES = {"linear": "an", "finetune": "an", "two_stage": "lac"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_given_features(tmp_path_factory.mktemp("given"))


def given_words(data: Path, out: Path, name: str) -> list[str | Path]:
    return ["train", data, "--out", out, *METHODS[name], "--quiet", "--threads", "1"]


def go_on(command: list[str | Path], out: Path) -> list[str | Path]:
    """What a user types after an interruption."""
    if (out / "config.toml").is_file():
        return ["train", "--resume", out, "--quiet"]
    return command


@pytest.mark.parametrize("name", METHODS)
def test_a_run_ends_the_same_however_it_was_disturbed(
    data: Path, tmp_path: Path, name: str
) -> None:
    ends_the_same(lambda out: given_words(data, out, name), tmp_path, name)


@pytest.mark.slow
@pytest.mark.skipif(ROUNDS == 1, reason="every kind of training is killed by make torture")
@pytest.mark.parametrize("mode", MODES)
def test_training_on_images_ends_the_same(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_scenes(tmp_path / "scenes", 24, 64, seed=3)
    labels = tmp_path / "scenes" / "labels.csv"

    def command(out: Path) -> list[str | Path]:
        monkeypatch.setenv("TAGFILL_CACHE", f"{out}-cache")  # features are killed half-way too
        kind = ["--mode", mode, "--method", MODES[mode], "--threads", "1", "--quiet"]
        return ["train", labels, "--out", out, *IMAGES, *kind]

    ends_the_same(command, tmp_path, mode)


def ends_the_same(command: Callable[[Path], list[str | Path]], tmp_path: Path, name: str) -> None:
    """Train undisturbed, then with interruptions at random moments: the same bytes."""
    whole = tmp_path / "whole"
    began = time.monotonic()
    assert finished(*command(whole)) == (0, "")
    length = time.monotonic() - began
    chance = random.Random(f"{name} {ROUNDS}")
    signals = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
    for number in range(ROUNDS):
        out = tmp_path / f"disturbed-{number}"
        words = command(out)
        code = disturbed(words, signals[number % 3], chance.uniform(0.3, 1) * length)
        patience = length
        while code != 0:
            assert code != 2, "an interruption must never need a remedy"
            code = disturbed(go_on(words, out), signal.SIGKILL, patience * chance.uniform(1, 4))
            patience *= 1.5  # a machine that is busier than before still ends it
        assert model_bytes(out) == model_bytes(whole)
        assert not leftovers(out)
