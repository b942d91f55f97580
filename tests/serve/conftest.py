"""A tiny run, made once, and servers on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from starlette.testclient import TestClient
from tests.quick import quick_choices
from tests.serve.browser import CHROMIUM, QUIET, Open
from tests.serve.live import listening

import tagfill
from tagfill.arrays import Floats
from tagfill.labels.io import load_labels, save_labels
from tagfill.observe import observe_dataset
from tagfill.observe.regimes import make
from tagfill.scenes import write_scenes
from tagfill.serve import jobs
from tagfill.serve.app import create_app
from tagfill.serve.library import Library
from tagfill.serve.model import ServedModel, open_run
from tagfill.serve.server import Options, build_service
from tagfill.serve.service import Service

PHOTOS = 72
Start = Callable[..., TestClient]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A linear run on scenes with one tag per photo, made once for all test processes."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "serve-run"
    with FileLock(f"{folder}.lock"):
        if not (folder / "finished").exists():
            with quick_choices():
                make_run(folder)
            (folder / "finished").touch()
    return folder / "runs" / "first"


def make_run(folder: Path) -> None:
    """Draw, mask, train, and work out the posterior."""
    write_scenes(folder / "scenes", PHOTOS, 96, 3, workers=1)
    full = load_labels(folder / "scenes" / "labels.csv")
    masked = folder / "labels.csv"
    save_labels(observe_dataset(full, make("single_positive"), seed=0), masked, format="csv_wide")
    fitted = tagfill.fit(
        masked,
        images=folder / "scenes",
        truth=folder / "scenes" / "labels.csv",
        out=folder / "runs" / "first",
        mode="linear",
        input_size=96,
        epochs=4,
        threads=1,
    )
    open_run(fitted.path)  # works out the posterior, once for all servers


@pytest.fixture(scope="session")
def opened(run: Path) -> tuple[Library, ServedModel]:
    """Its photos and model."""
    return open_run(run)


@pytest.fixture
def service(opened: tuple[Library, ServedModel], tmp_path: Path) -> Iterator[Service]:
    """A server's state on an empty database."""
    made = build_service(*opened, Options(database=str(tmp_path / "review.db")))
    yield made
    made.close()


def with_chances(opened: tuple[Library, ServedModel], chances: Floats) -> ServedModel:
    """The same model with other probabilities of the tags nobody wrote."""
    model = opened[1]
    posterior = replace(model.posterior, unwritten=chances)
    return replace(model, posterior=posterior, _explained={})


@pytest.fixture
def careful(opened: tuple[Library, ServedModel]) -> tuple[Library, ServedModel]:
    """Photos and a model that finds no tag likely, as after few photos."""
    return opened[0], with_chances(opened, 0.05 * opened[1].posterior.unwritten)


SHAM = """
import json, shutil, sys, time
from pathlib import Path
base, folder, out = map(Path, sys.argv[1:])
told = {"step": 1, "steps": 3, "label": "training", "done": 1, "total": 2}
(folder / "progress.json").write_text(json.dumps(told))
while not (folder / "go").exists():
    time.sleep(0.02)
shutil.copytree(base, out, ignore=shutil.ignore_patterns("review.db*"))
(folder / "result.json").write_text(json.dumps({"state": "done", "message": None}))
"""


QUICK = """
import sys
sys.path.insert(0, {root!r})
from tests.quick import quick_choices
from tagfill.serve.retrain import main
with quick_choices():
    sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def quick_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Train again in a process of its own, with the quick learner of ``tests/quick.py``."""
    script = tmp_path / "quick.py"
    script.write_text(QUICK.format(root=str(Path(__file__).parents[2])))
    monkeypatch.setattr(jobs, "COMMAND", (sys.executable, str(script)))


@pytest.fixture
def sham(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that waits to be let go and copies the run, in place of training."""
    script = tmp_path / "sham.py"
    script.write_text(SHAM)
    monkeypatch.setattr(jobs, "COMMAND", (sys.executable, str(script)))


class Reviewer(TestClient):
    """A browser with a session: changes carry the CSRF token."""

    def begin(self, name: str | None = None) -> Reviewer:
        self.headers["x-csrf-token"] = self.get("/api/session").json()["csrf"]
        if name is not None:
            assert self.put("/api/session", json={"name": name}).status_code == 200
        return self

    def say(self, photo: int, tag: str, value: str = "yes", view: str = "photo") -> dict:
        decision = {"photo": photo, "tag": tag, "value": value}
        answer = self.post("/api/review/decisions", json={"view": view, "decisions": [decision]})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def cards(self, **wanted: object) -> dict:
        answer = self.post("/api/review/next", json=wanted)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def browser(service: Service) -> Callable[..., Reviewer]:
    """New browsers, each a person of its own."""

    def new(name: str | None = None) -> Reviewer:
        client = Reviewer(create_app(service), base_url="http://127.0.0.1:8731")
        return client.begin(name)

    return new


@pytest.fixture
def anna(browser: Callable[..., Reviewer]) -> Reviewer:
    """A person who reviews."""
    return browser("Anna")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture
def site(opened: Any, tmp_path: Path) -> Iterator[tuple[str, Service]]:
    with listening(opened, tmp_path / "review.db") as served:
        yield served


@pytest.fixture
def visit(chromium: Any, site: tuple[str, Service]) -> Iterator[Open]:
    """Open a page as somebody new, or in a context that is open; script errors fail the test.

    Errors in the console that hold the expected text do not.
    """
    contexts, faults = [], []

    def go(path: str, context: Any = None, expected: str | None = None, **options: Any) -> Any:
        if context is None:
            context = chromium.new_context(locale="en-US", **options)
            context.set_default_timeout(30_000)
            contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda line: noted(line, expected))
        page.goto(site[0] + path)
        page.wait_for_selector("main:not([aria-busy])")
        return page

    def noted(line: Any, expected: str | None) -> None:
        if line.type == "error" and (expected is None or expected not in line.text):
            faults.append(line.text)

    yield go
    for context in contexts:
        context.close()
    assert faults == []
