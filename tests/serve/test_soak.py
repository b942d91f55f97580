"""Sixty-four clients of all kinds: no fault of the server, no memory that keeps growing.

Runs for some seconds; ``make torture`` sets TAGFILL_SOAK_SECONDS to half an hour.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import threading
from pathlib import Path

import httpx
import pytest
from tests.serve.live import Process
from tests.serve.soak import resident_megabytes, soak

SECONDS = float(os.environ.get("TAGFILL_SOAK_SECONDS", "12"))
CLIENTS = 64
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(SECONDS + 600),
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc"),
]


def test_soak(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenes = run.parents[1] / "scenes" / "images"
    photos = [path.read_bytes() for path in sorted(scenes.iterdir())]
    server, memory, done = Process(run, tmp_path / "review.db"), [], threading.Event()

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
        server.stop()
    middle = memory[len(memory) // 2 : 3 * len(memory) // 4]
    early, late = statistics.median(middle), statistics.median(memory[-len(middle) :])
    with capsys.disabled():
        times = ", ".join(f"{kind} {1000 * p95:.0f}" for kind, p95 in seen.p95().items())
        print(f"\nsoak: {seen.requests:,} requests of {CLIENTS} clients in {SECONDS:.0f} s")
        print(f"p95 in ms: {times}")
        print(f"memory: {early:.0f} MB, {late:.0f} MB at the end; {dict(seen.statuses)}")
    assert seen.wrong == []
    assert seen.errors == 0
    assert 'status="5' not in metrics
    assert "Traceback" not in server.told()
    assert seen.requests > CLIENTS
    kinds = {"page", "picture", "predict", "cards", "bad", "oversized", "slow", "cut off"}
    assert kinds <= set(seen.statuses)
    assert late < early + max(64, 0.1 * early)
