"""Servers on a real port: in a thread of the test, or as a process that can be killed."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from tests.processes import Command

from tagfill.serve.jobs import FOLDER
from tagfill.serve.library import Library
from tagfill.serve.model import ServedModel
from tagfill.serve.server import Options, build_service, make_server
from tagfill.serve.service import Service


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def listening(
    opened: tuple[Library, ServedModel], database: Path | str, **options: Any
) -> Iterator[tuple[str, Service]]:
    """The address of a server in a thread, and its state."""
    chosen = Options(port=free_port(), database=str(database), **options)
    service = build_service(*opened, chosen)
    server = make_server(service, chosen)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{chosen.port}", service
    finally:
        server.should_exit = True
        thread.join(20)


def let_go(service: Service) -> None:
    """End the waiting of all sham trainings."""
    for folder in (service.home / FOLDER).iterdir():
        (folder / "go").touch()


class Process:
    """`tagfill serve` as a process of its own."""

    def __init__(self, run: Path, database: Path | str, *options: str) -> None:
        self.port, self.database = free_port(), database
        self.url = f"http://127.0.0.1:{self.port}"
        descriptor, name = tempfile.mkstemp(prefix="tagfill-serve-")
        os.close(descriptor)
        self.log = Path(name)  # a pipe would fill and stop the server
        words = ("serve", run, "--port", str(self.port), "--database", str(database), *options)
        self.child = Command(*words, before=partial(errors_to, self.log))
        deadline = time.monotonic() + 240
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{self.url}/readyz").status_code == 200:
                    return
            except httpx.TransportError:
                assert self.child.poll() is None, self.told()
                time.sleep(0.1)
        self.kill()
        raise AssertionError("the server does not answer")

    def told(self) -> str:
        return self.log.read_text()

    def kill(self) -> None:
        self._end(signal.SIGKILL, 10)

    def stop(self) -> None:
        self._end(signal.SIGTERM, 20)

    def _end(self, number: signal.Signals, seconds: float) -> None:
        self.child.send_signal(number)
        self.child.communicate(seconds)
        self.log.unlink()


def errors_to(file: Path) -> None:
    """Send what this process writes to stderr into a file."""
    os.dup2(os.open(file, os.O_WRONLY | os.O_APPEND), 2)


def session(url: str, name: str | None = None) -> httpx.Client:
    """A client with a session."""
    client = httpx.Client(base_url=url, timeout=30)
    client.headers["x-csrf-token"] = client.get("/api/session").json()["csrf"]
    if name is not None:
        client.put("/api/session", json={"name": name}).raise_for_status()
    return client
