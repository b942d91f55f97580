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
ATTEMPTS = 4 if "TAGFILL_TORTURE" not in os.environ else 20
SLOW = "rfc3987_syntax"


@contextmanager
def two_workers() -> Iterator[dict[str, str]]:
    """The variables by which a cluster is found and entered; it ends with the block."""
    access = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # sockets want a short path
    process, port = _started(folder, access)
    try:
        yield {**access, "RAY_ADDRESS": f"127.0.0.1:{port}"}
    finally:
        _end(process)
        shutil.rmtree(folder, ignore_errors=True)


def _started(folder: Path, access: dict[str, str]) -> tuple[subprocess.Popen[bytes], int]:
    """Start the cluster, again where a busy machine was too slow for it; process and port."""
    around = {**os.environ, **access, **_quick(folder / "quick")}
    around["RAY_worker_niceness"] = "0"  # its workers are nice (15), and starve beside others
    command = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block"]
    command += ["--num-cpus", "2", "--include-dashboard", "false", "--disable-usage-stats"]
    command += ["--no-monitor", "--include-log-monitor", "false"]
    command += ["--object-store-memory", "200000000", "--temp-dir", str(folder)]
    for attempt in range(ATTEMPTS):
        ports = _free_ports(len(PORTS))
        words = [word for name, port in zip(PORTS, ports, strict=True) for word in (name, port)]
        log = folder / f"log-{attempt}.txt"
        with log.open("w") as stream:
            process = subprocess.Popen(
                [*command, *map(str, words)], stdout=stream, stderr=stream, env=around
            )
        if _is_up(process, log):
            return process, ports[0]
        _end(process)
    told = [file.read_text()[:500] for file in folder.rglob("raylet.err")]
    raise RuntimeError(f"ray did not start: {log.read_text()[-300:]} {told}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()


def _quick(folder: Path) -> dict[str, str]:
    """Hides the slow package."""
    folder.mkdir()
    (folder / f"{SLOW}.py").write_text("raise ImportError('hidden: slow to import')\n")
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _is_up(process: subprocess.Popen[bytes], log: Path) -> bool:
    """Wait for the start; whether it succeeded."""
    limit = time.monotonic() + SECONDS
    while "Ray runtime started" not in log.read_text():
        if process.poll() is not None or time.monotonic() > limit:
            return False
        time.sleep(0.2)
    return True


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
