"""Training again: a process of its own, before and after, and the model that is served."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import Reviewer

from tagfill.labels.io import load_labels
from tagfill.serve.app import create_app
from tagfill.serve.model import open_run
from tagfill.serve.server import Options, build_service


@pytest.fixture
def reviewer(run: Path, tmp_path: Path) -> Reviewer:
    """A server on a run of its own, beside which runs may be made."""
    shutil.copytree(run, tmp_path / "runs" / "first")
    service = build_service(*open_run(tmp_path / "runs" / "first"), Options())
    return Reviewer(create_app(service), base_url="http://127.0.0.1:8731").begin("Anna")


def wait(client: Reviewer, job: str, seconds: float = 300) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        state = client.get(f"/api/jobs/{job}").json()
        if state["state"] != "running":
            return state
        time.sleep(0.3)
    raise AssertionError("still running")


@pytest.mark.slow
def test_train_again_switch_and_switch_back(reviewer: Reviewer, tmp_path: Path) -> None:
    service = reviewer.app.state.service
    table, truth = service.library.table, service.library.truth
    assert truth is not None
    train = service.library.splits["train"].tolist()
    for row in train[:20]:
        yes = [tag for column, tag in enumerate(table.classes) if truth[row, column] == 1]
        reviewer.post("/api/review/complete", json={"photo": row, "yes": yes})
    job = reviewer.post("/api/jobs").json()
    assert reviewer.post("/api/jobs").status_code == 409
    ended = wait(reviewer, job["id"])
    assert ended["state"] == "done", ended
    labels = load_labels(next((tmp_path / "runs" / ".review").rglob("labels.csv"))).table
    for row in train[:20]:
        assert (labels.values[labels.row_of[table.images[row]]] == truth[row]).all()
    both = reviewer.get(f"/api/runs/first/compare/{ended['run']}").json()
    assert [each["name"] for each in both["runs"]] == ["first", ended["run"]]
    assert all(each["mAP"] > 0 for each in both["runs"])
    before = reviewer.get("/api/photos/30").json()["suggestions"]
    assert reviewer.put("/api/runs/served", json={"run": ended["run"]}).status_code == 200
    assert reviewer.get("/readyz").json()["model"] == ended["run"]
    after = reviewer.get("/api/photos/30").json()["suggestions"]
    assert after != before
    answer = reviewer.post(
        "/api/predict", files={"images": ("a.jpg", service.library.paths[0].read_bytes())}
    )
    assert answer.json()["model"] == ended["run"]
    reviewer.put("/api/runs/served", json={"run": "first"})
    assert reviewer.get("/api/photos/30").json()["suggestions"] == before


def test_a_canceled_training_leaves_nothing_behind(reviewer: Reviewer, tmp_path: Path) -> None:
    job = reviewer.post("/api/jobs").json()
    assert job["state"] == "running"
    ended = reviewer.delete(f"/api/jobs/{job['id']}").json()
    assert ended["state"] == "canceled"
    assert not (tmp_path / "runs" / job["run"]).exists()
    assert [run["name"] for run in reviewer.get("/api/runs").json()] == ["first"]
    assert reviewer.get("/api/jobs/nothing").status_code == 404


def test_a_training_that_fails_says_why(reviewer: Reviewer, tmp_path: Path) -> None:
    service = reviewer.app.state.service
    service.origin = tmp_path / "nothing"
    job = reviewer.post("/api/jobs").json()
    ended = wait(reviewer, job["id"], 120)
    assert ended["state"] == "failed"
    assert "config.toml" in ended["message"]


def test_runs_are_listed_with_metrics(reviewer: Reviewer) -> None:
    (only,) = reviewer.get("/api/runs").json()
    assert only["served"]
    assert only["mAP"]["test"] > 0
    detail = reviewer.get("/api/runs/first").json()
    assert len(detail["curve"]) >= 1
    assert detail["splits"]["test"]["per_class"]
    assert reviewer.get("/api/runs/nothing").status_code == 404
    assert reviewer.put("/api/runs/served", json={"run": ".."}).status_code == 404


def test_metrics_are_measured_once_enough_photos_are_complete(reviewer: Reviewer) -> None:
    service = reviewer.app.state.service
    assert reviewer.get("/api/runs/measured").json()["photos"] == 0
    table, truth = service.library.table, service.library.truth
    rows = service.queue.guided.tolist()[:12]
    for row in rows:
        yes = [tag for column, tag in enumerate(table.classes) if truth[row, column] == 1]
        reviewer.post("/api/review/complete", json={"photo": row, "yes": yes})
    measured = reviewer.get("/api/runs/measured").json()
    assert measured["photos"] == 12
    assert 0 < measured["mAP"] <= 100
    assert 0 <= measured["recall"] <= 1
