"""Sixty-four clients of all kinds: no fault of the server, no memory that keeps growing.

Then it is killed, and nothing that was acknowledged is lost. The soak runs for 12 seconds;
``make torture`` sets TAGFILL_SOAK_SECONDS to half an hour.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.live import Process, listening, session
from tests.serve.soak import resident_megabytes, soak

SECONDS = float(os.environ.get("TAGFILL_SOAK_SECONDS", "12"))
CLIENTS = 64
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(SECONDS + 600),
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc"),
]


@pytest.fixture(scope="module")
def server(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A server in a process of its own; the last test kills it."""
    started = Process(run, tmp_path_factory.mktemp("soak") / "review.db")
    yield started
    if started.child.poll() is None:
        started.stop()


def test_soak(run: Path, server: Process, capsys: pytest.CaptureFixture[str]) -> None:
    scenes = run.parents[1] / "scenes" / "images"
    photos = [path.read_bytes() for path in sorted(scenes.iterdir())]
    memory, done = [], threading.Event()

    def watch() -> None:
        while not done.wait(SECONDS / 100):
            memory.append(resident_megabytes(server.child.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        seen = asyncio.run(soak(server.url, SECONDS, CLIENTS, photos))
        metrics = httpx.get(f"{server.url}/metrics").text
    finally:
        done.set()
        watcher.join()
    middle = memory[len(memory) // 2 : 3 * len(memory) // 4]
    early, late = statistics.median(middle), statistics.median(memory[-len(middle) :])
    with capsys.disabled():
        times = ", ".join(f"{kind} {1000 * p95:.0f}" for kind, p95 in seen.p95().items())
        print(f"\nsoak: {seen.requests:,} requests of {CLIENTS} clients in {SECONDS:.0f} s")
        print(f"p95 in ms: {times}")
        print(f"memory: {early:.0f} MB, {late:.0f} MB at the end; {dict(seen.statuses)}")
    assert seen.lost == []
    assert seen.wrong == []
    assert seen.errors == 0
    assert 'status="5' not in metrics
    assert "Traceback" not in server.told()
    assert seen.requests > CLIENTS
    kinds = {"page", "picture", "predict", "cards", "bad", "oversized", "slow", "cut off"}
    assert kinds <= set(seen.statuses)
    assert late < early + max(64, 0.1 * early)


def test_killed_between_decisions_nothing_is_lost(server: Process, opened: Any) -> None:
    client = session(server.url, "Anna")
    saved: dict[tuple[int, str], str] = {}
    for number in range(30):
        value = ("yes", "no")[number % 2]
        decision = {"photo": number, "tag": "boat", "value": value}
        client.post("/api/review/decisions", json={"decisions": [decision]}).raise_for_status()
        saved[number, "boat"] = value
    server.kill()
    with listening(opened, server.database) as (url, _):
        client = session(url, "Anna")
        history = client.get("/api/review/history?limit=1000").json()
        assert sum(line["who"] == "Anna" for line in history) == len(saved)
        for (photo, tag), value in saved.items():
            assert tag in client.get(f"/api/photos/{photo}").json()[value]
        assert client.post("/api/review/undo").json()[0]["photo"] == 29
