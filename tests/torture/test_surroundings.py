"""Several processes on one cache, a cache that is emptied meanwhile, few file handles, no place."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import pytest
from tests.processes import Command
from tests.torture.story import ROUNDS, model_bytes

from tagfill.cli.main import main
from tagfill.scenes import write_scenes
from tagfill.train import cache

NOWHERE = Path("/proc")
"""Nobody can write here, not even root."""
SMALL = ("--input-size", "48", "--method", "an", "--epochs", "1", "--threads", "1")
SMALL += ("--quiet", "--no-report")


def few_handles() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scenes")
    write_scenes(folder, 24, 64, seed=3)
    return folder


@pytest.mark.slow
def test_two_runs_on_one_cache_that_is_emptied_meanwhile(scenes: Path, tmp_path: Path) -> None:
    place = tmp_path / "cache"
    env = {**os.environ, "TAGFILL_CACHE": str(place)}
    for number in range(ROUNDS):
        outs = [tmp_path / f"{name}-{number}" for name in ("one", "other")]
        words = [("train", scenes / "labels.csv", "--out", out, *SMALL) for out in outs]
        running = [Command(*command, env=env, before=few_handles) for command in words]
        emptied = 0
        while any(process.poll() is None for process in running):
            if emptied < 2 and any(place.glob("features/*/*.txt")):
                emptied += len(cache.prune(0, place)) > 0
            time.sleep(0.3 + 0.1 * number)
        for process in running:
            _, errors = process.communicate()
            assert process.returncode == 0, errors
        assert emptied
        assert model_bytes(outs[0]) == model_bytes(outs[1])


@pytest.mark.parametrize(
    "words",
    [
        ("train", "labels.csv", "--out", NOWHERE / "run", *SMALL),
        ("convert", "labels.csv", NOWHERE / "o.csv", "--to", "csv_wide"),
        ("convert", "labels.csv", NOWHERE / "o", "--to", "image_folder"),
        ("mask", "labels.csv", NOWHERE / "o.csv", "--regime", "single_positive"),
        ("inspect", "labels.csv", "--propose-aliases", NOWHERE / "o.toml"),
        ("scenes", NOWHERE / "scenes", "--count", "2"),
    ],
    ids=lambda words: words[0],
)
def test_a_place_that_cannot_be_written_to_is_named(
    words: tuple[str | Path, ...],
    scenes: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(scenes)
    assert main([str(word) for word in words]) == 2
    told = capsys.readouterr().err
    assert f"tagfill: {next(w for w in words if isinstance(w, Path))}: " in told
    assert "Traceback" not in told
