"""Servers on a real port: in a thread of the test, or as a process that can be killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

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
        command = [sys.executable, "-m", "tagfill.cli.main", "serve", str(run)]
        command += ["--port", str(self.port), "--database", str(database), *options]
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 - a pipe would fill and stop the server
        self.child = subprocess.Popen(command, stderr=self.log, env=dict(os.environ))
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
        self.log.seek(0)
        return self.log.read().decode()

    def kill(self) -> None:
        self.child.send_signal(signal.SIGKILL)
        self.child.wait(10)

    def stop(self) -> None:
        self.child.send_signal(signal.SIGTERM)
        self.child.wait(20)


def session(url: str, name: str | None = None) -> httpx.Client:
    """A client with a session."""
    client = httpx.Client(base_url=url, timeout=30)
    client.headers["x-csrf-token"] = client.get("/api/session").json()["csrf"]
    if name is not None:
        client.put("/api/session", json={"name": name}).raise_for_status()
    return client
