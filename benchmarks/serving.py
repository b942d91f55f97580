"""A `tagfill serve` process for the measurements beside it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

PAGE = Path("docs/results/serve.md")


@contextmanager
def serving(run: Path, database: Path, *options: str) -> Iterator[str]:
    """The address of a server on a run."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tagfill", "serve", str(run), "--port", str(port)]
    child = subprocess.Popen([*command, "--database", str(database), *options])
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                httpx.get(f"{url}/readyz", timeout=5).raise_for_status()
                break
            except httpx.HTTPError:
                if child.poll() is not None:
                    raise SystemExit("the server did not start") from None
                time.sleep(0.2)
        yield url
    finally:
        child.terminate()
        child.wait(20)


def circumstances() -> tuple[str, str]:
    """A row of a table: when it was made, and how busy the machine was."""
    loads = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    day, cores = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), os.cpu_count()
    return f"{day}, {cores} cores", f"load average {loads}"


def percentiles(seconds: list[float]) -> tuple[float, float]:
    """Median and 95th percentile in milliseconds."""
    ordered = sorted(seconds)
    at = [ordered[min(int(share * len(ordered)), len(ordered) - 1)] for share in (0.5, 0.95)]
    return 1000 * at[0], 1000 * at[1]
