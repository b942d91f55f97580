"""A disk that is full: an error with the file's name, and everything written before intact."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from tests.processes import finished
from tests.torture.story import leftovers
from tests.train.given import write_given_features

SMALL = 4_096
QUIET = ("--quiet", "--no-report")


def limit_files() -> None:
    """No file may grow beyond a few kilobytes, as on a full disk."""
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, SMALL))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = write_given_features(tmp_path_factory.mktemp("given"))
    out = tmp_path_factory.mktemp("runs") / "run"
    assert finished("train", data, "--out", out, "--epochs", "2", *QUIET)[0] == 0
    return out


def test_recover_on_a_full_disk_keeps_earlier_decisions(run: Path, tmp_path: Path) -> None:
    suggestions = tmp_path / "suggestions.csv"
    assert finished("recover", run, "--out", suggestions, "--top", "3", "--quiet")[0] == 0
    decided = suggestions.read_text().replace("\n", "yes\n")
    assert len(decided) > SMALL
    suggestions.write_text(decided)
    again = ("recover", run, "--out", suggestions, "--top", "3", "--quiet", "--force")
    code, errors = finished(*again, before=limit_files)
    assert code == 2
    assert "Traceback" not in errors
    assert suggestions.read_text() == decided
    assert not leftovers(tmp_path)


def test_training_on_a_full_disk_can_be_repeated(run: Path, tmp_path: Path) -> None:
    data = write_given_features(tmp_path / "given")
    out = tmp_path / "run"
    words = ("train", data, "--out", out, "--epochs", "2", *QUIET)
    code, errors = finished(*words, before=limit_files)
    assert code == 2
    assert "Traceback" not in errors
    words = ("train", "--resume", out, *QUIET) if (out / "config.toml").is_file() else words
    assert finished(*words)[0] == 0
