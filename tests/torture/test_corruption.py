"""A flipped bit is noticed, never trained on."""

from __future__ import annotations

import random
import shutil
import signal
import time
from pathlib import Path

import pytest
from tests.torture.story import ROUNDS, finished, model_bytes, tagfill
from tests.train.given import write_given_features


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped in the middle."""
    data = write_given_features(tmp_path_factory.mktemp("given"))
    out = tmp_path_factory.mktemp("runs") / "stopped"
    options = ["--method", "role", "--epochs", "24", "--checkpoint-seconds", "0"]
    process = tagfill("train", data, "--out", out, *options, "--quiet", "--threads", "1")
    events = out / "events.jsonl"
    while not events.is_file() or events.read_text().count('"epoch"') < 3:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    return out


def flip(file: Path, chance: random.Random) -> None:
    """Turn one bit of a file."""
    content = bytearray(file.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(bytes(content))


def test_a_flipped_bit_in_a_checkpoint_never_changes_the_model_silently(
    stopped: Path, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(stopped, whole)
    assert finished("train", "--resume", whole, "--quiet")[0] == 0
    chance = random.Random(ROUNDS)
    for number in range(ROUNDS):
        out = tmp_path / f"flipped-{number}"
        shutil.copytree(stopped, out)
        flip(out / "checkpoints" / "last.safetensors", chance)
        code, errors = finished("train", "--resume", out, "--quiet")
        if code == 0:
            assert model_bytes(out) == model_bytes(whole)
        else:
            assert code == 2
            assert "last.safetensors" in errors
            assert "Traceback" not in errors


def test_a_flipped_bit_in_a_model_is_refused(stopped: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(stopped, run)
    assert finished("train", "--resume", run, "--quiet")[0] == 0
    flip(run / "model" / "model.safetensors", random.Random(1))
    code, errors = finished("export", run, "--out", tmp_path / "model.onnx")
    assert code == 2
    assert "model.safetensors" in errors
