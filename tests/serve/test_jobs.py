"""Training again: a process of its own, before and after, and the model that is served."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.serve.conftest import Reviewer
from tests.serve.live import let_go
from tests.torture.story import ROUNDS

import tagfill
from tagfill.errors import TagfillError
from tagfill.labels.io import load_labels
from tagfill.serve import jobs, retrain
from tagfill.serve.app import create_app
from tagfill.serve.library import Library
from tagfill.serve.model import ServedModel, open_run
from tagfill.serve.server import Options, build_service


@pytest.fixture(scope="module")
def home(run: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Library, ServedModel]:
    """A run of its own, beside which runs may be made."""
    folder = tmp_path_factory.mktemp("jobs")
    shutil.copytree(run, folder / "runs" / "first")
    return open_run(folder / "runs" / "first")


@pytest.fixture
def serve(home: tuple[Library, ServedModel], tmp_path: Path) -> Iterator[Callable[..., Reviewer]]:
    """Servers on one database; runs they make are removed afterwards."""
    services = []

    def new(name: str = "Anna") -> Reviewer:
        services.append(build_service(*home, Options(database=str(tmp_path / "review.db"))))
        app = create_app(services[-1])
        return Reviewer(app, base_url="http://127.0.0.1:8731").begin(name)

    yield new
    for service in services:
        service.close()
    for path in home[1].path.parent.iterdir():
        if path.name != "first":
            shutil.rmtree(path)


@pytest.fixture
def reviewer(serve: Callable[..., Reviewer]) -> Reviewer:
    return serve()


def wait(client: Reviewer, job: str, seconds: float = 300, pause: float = 0.1) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        state = client.get(f"/api/jobs/{job}").json()
        if state["state"] != "running":
            return state
        time.sleep(pause)
    raise AssertionError("still running")


@pytest.mark.slow
def test_train_again_switch_and_switch_back(
    serve: Callable[..., Reviewer], quick_training: None
) -> None:
    reviewer = serve()
    service = reviewer.app.state.service
    table, truth = service.library.table, service.library.truth
    assert truth is not None
    train = service.library.splits["train"].tolist()
    for row in train[:20]:
        yes = [tag for column, tag in enumerate(table.classes) if truth[row, column] == 1]
        reviewer.post("/api/review/complete", json={"photo": row, "yes": yes})
    job = reviewer.post("/api/jobs").json()
    service.close()
    reviewer = serve()  # the training outlives the server, and the next one answers meanwhile
    service = reviewer.app.state.service
    files = {"images": ("a.jpg", service.library.paths[0].read_bytes())}
    answers = 0
    while reviewer.get(f"/api/jobs/{job['id']}").json()["state"] == "running":
        assert reviewer.post("/api/predict", files=files).json()["model"] == "first"
        assert reviewer.say(train[0], "boat", "no")
        answers += 1
    assert answers
    ended = wait(reviewer, job["id"])
    assert ended["state"] == "done", ended
    labels = load_labels(next((service.home / jobs.FOLDER).rglob("labels.csv"))).table
    for row in train[:20]:
        assert (labels.values[labels.row_of[table.images[row]]] == truth[row]).all()
    both = reviewer.get(f"/api/runs/first/compare/{ended['run']}").json()
    assert [run["name"] for run in both["runs"]] == ["first", ended["run"]]
    assert all(run["mAP"] > 0 for run in both["runs"])
    before = reviewer.get("/api/photos/30").json()["suggestions"]
    assert reviewer.put("/api/runs/served", json={"run": ended["run"]}).status_code == 200
    assert reviewer.get("/readyz").json()["model"] == ended["run"]
    after = reviewer.get("/api/photos/30").json()["suggestions"]
    assert after != before
    assert reviewer.post("/api/predict", files=files).json()["model"] == ended["run"]
    reviewer.put("/api/runs/served", json={"run": "first"})
    assert reviewer.get("/api/photos/30").json()["suggestions"] == before


def test_progress_names_the_step_and_counts_what_can_be_counted(tmp_path: Path) -> None:
    told = lambda: json.loads((tmp_path / "progress.json").read_text())  # noqa: E731
    file = retrain.ProgressFile(tmp_path / "progress.json")
    assert (told()["step"], told()["steps"], told()["label"]) == (1, 3, "training")
    file.every = 0
    file.progress(30, 72, "features (plain), 41 images/s")
    assert (told()["step"], told()["label"], told()["done"], told()["total"]) == (
        1,
        "features",
        30,
        72,
    )
    file.event("epoch", {"epoch": 1, "epochs": 2})
    assert (told()["label"], told()["done"], told()["total"]) == ("training", 1, 2)
    file.event("epoch", {"epoch": 2, "epochs": 2})
    assert (told()["step"], told()["label"]) == (2, "measuring")
    file.event("end", {})
    assert (told()["step"], told()["label"], told()["total"]) == (3, "suggestions", 0)


def test_a_clock_that_was_put_back_gives_no_negative_times(
    reviewer: Reviewer, sham: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = reviewer.post("/api/jobs").json()
    service = reviewer.app.state.service
    with monkeypatch.context() as patch:
        patch.setattr(jobs.time, "time", lambda: 0.0)
        assert reviewer.get("/api/jobs").json()[0]["seconds"] == 0
    let_go(service)
    wait(reviewer, job["id"])
    for result in service.home.glob(f"{jobs.FOLDER}/*/{jobs.RESULT}"):
        os.utime(result, (0, 0))
    assert reviewer.get("/api/jobs").json()[0]["usual"] == job["usual"]


def test_two_servers_share_one_training(serve: Callable[..., Reviewer], sham: None) -> None:
    anna, ben = serve("Anna"), serve("Ben")
    job = anna.post("/api/jobs").json()
    assert job["state"] == "running"
    assert (job["base"], job["usual"] > 0) == ("first", True)  # as long as the first one took
    assert ben.post("/api/jobs").status_code == 409
    assert ben.get("/api/jobs").json()[0]["who"] == "Anna"
    assert ben.get("/api/jobs").json()[0]["seconds"] >= job["seconds"]
    let_go(anna.app.state.service)
    ended = wait(ben, job["id"])
    assert (ended["state"], ended["seconds"]) == ("done", None)
    assert 0 <= ended["usual"] < 60
    assert anna.get(f"/api/jobs/{job['id']}").json()["trained"]
    assert {run["name"] for run in ben.get("/api/runs").json()} == {"first", job["run"]}


def test_a_training_can_be_canceled_after_a_restart(
    serve: Callable[..., Reviewer], sham: None
) -> None:
    anna = serve()
    job = anna.post("/api/jobs").json()
    anna.app.state.service.close()
    again = serve()
    assert again.get(f"/api/jobs/{job['id']}").json()["state"] == "running"
    began = time.monotonic()
    assert again.delete(f"/api/jobs/{job['id']}").json()["state"] == "canceled"
    assert time.monotonic() - began < 4  # nobody waits for what has ended
    assert again.get("/api/jobs").json()[0]["state"] == "canceled"
    assert [run["name"] for run in again.get("/api/runs").json()] == ["first"]


def test_the_processes_of_others_are_left_alone(serve: Callable[..., Reviewer], sham: None) -> None:
    anna = serve()
    job = anna.post("/api/jobs").json()
    other = serve()
    row = other.app.state.service.jobs.one(job["id"])
    folder = Path(row["folder"])
    assert jobs._is_job(row["pid"], folder)
    assert not jobs._is_job(os.getpid(), folder)
    with pytest.raises(TagfillError, match="another machine"):
        other.app.state.service.jobs._stop(job["id"], os.getpid(), folder)
    let_go(anna.app.state.service)
    assert wait(anna, job["id"])["state"] == "done"


def test_a_killed_training_is_told_as_failed(serve: Callable[..., Reviewer], sham: None) -> None:
    anna = serve()
    job = anna.post("/api/jobs").json()
    os.kill(anna.app.state.service.jobs.one(job["id"])["pid"], signal.SIGKILL)
    ended = wait(anna, job["id"], 20)
    assert (ended["state"], ended["message"]) == ("failed", "the process ended without a result")
    assert anna.post("/api/jobs").status_code == 201  # and the next one may begin
    anna.delete(f"/api/jobs/{anna.get('/api/jobs').json()[0]['id']}")


@pytest.mark.slow
def test_a_training_killed_at_any_moment_harms_nothing(reviewer: Reviewer) -> None:
    service, chance = reviewer.app.state.service, random.Random(ROUNDS)
    first = service.home / "first"
    before = {file: file.read_bytes() for file in first.rglob("*") if file.is_file()}
    for _ in range(ROUNDS):
        job = reviewer.post("/api/jobs").json()
        time.sleep(chance.uniform(0, 12))
        sent = chance.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
        with suppress(ProcessLookupError):
            os.kill(service.jobs.one(job["id"])["pid"], sent)
        ended = wait(reviewer, job["id"])
        assert ended["state"] in ("failed", "done")
        if ended["state"] == "done":
            assert tagfill.open_run(service.home / ended["run"]).metrics
        assert "first" in [run["name"] for run in reviewer.get("/api/runs").json()]
    assert {file: file.read_bytes() for file in before} == before


@pytest.mark.parametrize("result", ["", "[]", "{}", '{"state": "x", "message": null}', "[" * 9999])
def test_a_damaged_result_is_told_as_failed(reviewer: Reviewer, sham: None, result: str) -> None:
    job = reviewer.post("/api/jobs").json()
    row = reviewer.app.state.service.jobs.one(job["id"])
    Path(row["folder"], jobs.RESULT).write_text(result)
    Path(row["folder"], jobs.PROGRESS).write_text(result)
    os.kill(row["pid"], signal.SIGKILL)
    ended = wait(reviewer, job["id"], 20)
    assert (ended["state"], ended["message"]) == ("failed", "the process ended without a result")


def test_an_interrupted_training_is_not_told_as_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(retrain, "retrain", interrupted)
    with pytest.raises(KeyboardInterrupt):
        retrain.main([str(tmp_path)] * 3)
    assert json.loads((tmp_path / jobs.RESULT).read_text())["state"] == "failed"


def test_a_canceled_training_leaves_nothing_behind(reviewer: Reviewer) -> None:
    job = reviewer.post("/api/jobs").json()
    assert job["state"] == "running"
    ended = reviewer.delete(f"/api/jobs/{job['id']}").json()
    assert ended["state"] == "canceled"
    assert not (reviewer.app.state.service.home / job["run"]).exists()
    assert [run["name"] for run in reviewer.get("/api/runs").json()] == ["first"]
    assert reviewer.get("/api/jobs/nothing").status_code == 404


def test_a_training_that_fails_says_why(reviewer: Reviewer, sham: None, tmp_path: Path) -> None:
    service = reviewer.app.state.service
    job = reviewer.post("/api/jobs").json()
    row = service.jobs.one(job["id"])
    assert retrain.main([str(tmp_path / "nothing"), row["folder"], row["path"]]) == 2
    os.kill(row["pid"], signal.SIGKILL)
    ended = wait(reviewer, job["id"], 20)
    assert ended["state"] == "failed"
    assert "config.toml" in ended["message"]


def test_runs_are_listed_with_metrics(reviewer: Reviewer) -> None:
    broken = reviewer.app.state.service.home / "broken"
    broken.mkdir()
    (broken / "config.toml").write_text("no toml [")
    other, only = reviewer.get("/api/runs").json()
    assert other["problem"]
    assert reviewer.get("/api/runs/broken").status_code == 400
    assert only["served"]
    assert only["mAP"]["test"] > 0
    detail = reviewer.get("/api/runs/first").json()
    assert len(detail["curve"]) >= 1
    shown = detail["splits"]["test"]
    run = tagfill.open_run(reviewer.app.state.service.home / "first")
    assert [row["threshold"] for row in shown["per_class"]] == pytest.approx(run.model.thresholds)
    recall = [row["recall"] for row in shown["per_class"] if row["recall"] is not None]
    assert np.mean(recall) == pytest.approx(shown["at_fitted_thresholds"]["class_recall"])
    assert reviewer.get("/api/runs/nothing").status_code == 404
    assert reviewer.get("/api/runs/nothing/curve").status_code == 404
    assert reviewer.put("/api/runs/served", json={"run": ".."}).status_code == 404


def test_metrics_are_measured_once_enough_photos_are_complete(reviewer: Reviewer) -> None:
    service = reviewer.app.state.service
    complete = service.library.fully_labeled
    before = reviewer.get("/api/runs/measured").json()
    assert before["photos"] == complete.sum() > 0  # the test photos, as the file has them
    assert before["mAP"] == pytest.approx(
        reviewer.get("/api/runs").json()[0]["mAP"]["test"], abs=0.1
    )
    table, truth = service.library.table, service.library.truth
    rows = [row for row in service.queue.guided.tolist() if not complete[row]][:12]
    for row in rows:
        yes = [tag for column, tag in enumerate(table.classes) if truth[row, column] == 1]
        reviewer.post("/api/review/complete", json={"photo": row, "yes": yes})
    measured = reviewer.get("/api/runs/measured").json()
    assert measured["photos"] == complete.sum() + 12
    assert 0 < measured["mAP"] <= 100
    assert 0 <= measured["recall"] <= 1


def test_precision_by_recall_of_held_out_photos(reviewer: Reviewer) -> None:
    service = reviewer.app.state.service
    library, run = service.library, service.model.run
    truth = library.truth[library.splits["test"]]
    column = int(np.argmax((truth == 1).sum(axis=0)))
    tag = library.table.classes[column]
    curve = reviewer.get("/api/runs/first/curve", params={"tag": tag}).json()
    hits = truth[np.argsort(-run.probabilities("test")[:, column]), column] == 1
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    recalls, precisions = np.transpose(curve["points"])
    assert curve["photos"] == len(truth)
    assert recalls[[0, -1]].tolist() == [0, 1]
    assert precisions[0] == pytest.approx(precision[hits].max(), abs=1e-3)
    assert precisions[-1] == pytest.approx(precision[hits][-1], abs=1e-3)
    assert (np.diff(precisions) <= 0).all()
    assert len(reviewer.get("/api/runs/first/curve").json()["points"]) == len(recalls)
    assert reviewer.get("/api/runs/first/curve?tag=nothing").status_code == 404
