"""Workers that share a study in PostgreSQL, one of which is killed."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.postgres import Cluster, needs_postgres
from tests.processes import TIMEOUT, Command
from tests.tune.test_tune import make_folder

from tagfill.tune.study import create_study

pytest.importorskip("pg8000")
optuna = pytest.importorskip("optuna")
pytestmark = [pytest.mark.slow, needs_postgres]
TRIALS = 5


def test_a_killed_worker_leaves_the_rest_to_the_other(tmp_path: Path) -> None:
    data, server = make_folder(tmp_path / "data"), Cluster()
    url = server.url.replace("postgresql://", "postgresql+pg8000://")
    shared = ["tune", data, "--method", "em", "--trials", str(TRIALS), "--storage", url, "--quiet"]
    try:
        killed = Command(*shared, "--epochs", "1000000", "--out", tmp_path / "killed")
        wait_for_trial(url, killed)
        other = Command(*shared, "--epochs", "2", "--out", tmp_path / "other")
        killed.send_signal(signal.SIGKILL)
        _, message = other.communicate(timeout=TIMEOUT)
        assert other.returncode == 0, message
        states = [trial.state.name for trial in trials_of(url)]
    finally:
        server.stop()
    assert states.count("COMPLETE") == TRIALS
    assert states.count("RUNNING") == 1  # what the killed one was at
    assert (tmp_path / "other" / "trials.csv").is_file()


def test_machines_that_start_at_once_on_an_empty_database_share_one_study() -> None:
    server, count = Cluster(), 6
    url = server.url.replace("postgresql://", "postgresql+pg8000://")
    start = threading.Barrier(count)

    def open_study(_: int) -> int:
        start.wait()
        return create_study(url, "tagfill")._study_id

    try:
        with ThreadPoolExecutor(count) as machines:
            studies = list(machines.map(open_study, range(count)))
    finally:
        server.stop()
    assert len(set(studies)) == 1


def trials_of(url: str) -> list[optuna.trial.FrozenTrial]:
    return create_study(url, "tagfill").get_trials()


def wait_for_trial(url: str, worker: Command) -> None:
    """Until the worker is at a trial."""
    while worker.poll() is None:
        if any(trial.state.name == "RUNNING" for trial in trials_of(url)):
            return
        time.sleep(0.2)
    raise AssertionError(worker.communicate()[1])
