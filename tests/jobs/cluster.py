"""A Ray cluster of one machine with two processors, for tests.

Ray gives up unless its helper processes have started within 15 seconds. Most of their start is a
grammar that jsonschema compiles at import where a package of the schema tests is installed; in the
cluster that package is hidden. Ports that are chosen here are waited for a little less.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

PORTS = (
    "--port",
    "--dashboard-agent-grpc-port",
    "--dashboard-agent-listen-port",
    "--metrics-export-port",
    "--runtime-env-agent-port",
)
SECONDS = 150
SLOW = "rfc3987_syntax"


@contextmanager
def two_workers() -> Iterator[dict[str, str]]:
    """The variables by which a cluster is found and entered; it ends with the block."""
    access = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # sockets want a short path
    ports = _free_ports(len(PORTS))
    words = [part for name, port in zip(PORTS, ports, strict=True) for part in (name, str(port))]
    command = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block"]
    command += ["--num-cpus", "2", "--include-dashboard", "false", "--disable-usage-stats"]
    command += ["--object-store-memory", "200000000", "--temp-dir", str(folder), *words]
    with (folder / "log.txt").open("w") as log:
        around = {**os.environ, **access, **_quick(folder / "quick")}
        around["RAY_worker_niceness"] = "0"  # its workers are nice (15), and starve beside others
        process = subprocess.Popen(command, stdout=log, stderr=log, env=around)
        try:
            _wait(process, folder / "log.txt")
            yield {**access, "RAY_ADDRESS": f"127.0.0.1:{ports[0]}"}
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
            shutil.rmtree(folder, ignore_errors=True)


def _quick(folder: Path) -> dict[str, str]:
    """Hides the slow package."""
    folder.mkdir()
    (folder / f"{SLOW}.py").write_text("raise ImportError('hidden: slow to import')\n")
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _wait(process: subprocess.Popen[bytes], log: Path) -> None:
    limit = time.monotonic() + SECONDS
    while "Ray runtime started" not in log.read_text():
        if process.poll() is not None or time.monotonic() > limit:
            told = [file.read_text()[:500] for file in log.parent.rglob("raylet.err")]
            raise RuntimeError(f"ray did not start: {log.read_text()[-300:]} {told}")
        time.sleep(0.2)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
