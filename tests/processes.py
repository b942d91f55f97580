"""Commands in processes of their own, forked from one that has imported torch already.

A fresh interpreter takes seconds to import what a command needs; a fork starts at once. It shares
nothing with the tests: the process that is forked was started for that alone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path

import torch.multiprocessing

from tagfill.cli.main import main

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["tests.warm"])
TIMEOUT = 300 if "TAGFILL_TORTURE" not in os.environ else 3600
"""Seconds a command may take; a machine that is tortured may be busy."""


class Command:
    """`tagfill` with these words, with the methods of ``subprocess.Popen`` that tests need.

    Args:
        env: its environment; that of the test if it is not given.
        before: called in the process before the command.
    """

    def __init__(
        self,
        *words: str | Path,
        env: Mapping[str, str] | None = None,
        before: Callable[[], None] | None = None,
    ) -> None:
        self._errors, theirs = _forks.Pipe(duplex=False)
        place = (dict(os.environ if env is None else env), os.getcwd())
        arguments = ([str(word) for word in words], *place, before, theirs)
        self._process = _forks.Process(target=_run, args=arguments)
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        return self._process.exitcode

    @property
    def returncode(self) -> int:
        code = self._process.exitcode
        assert code is not None
        return code

    def send_signal(self, number: signal.Signals) -> None:
        """Disturb it."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def communicate(self, timeout: float | None = None) -> tuple[None, str]:
        """Wait for its end; what it wrote to stderr."""
        self._process.join(timeout)
        if self.poll() is None:
            raise subprocess.TimeoutExpired("tagfill", timeout or 0)
        with os.fdopen(os.dup(self._errors.fileno()), encoding="utf-8") as stream:
            return None, stream.read()


def finished(*words: str | Path, before: Callable[[], None] | None = None) -> tuple[int, str]:
    """Run a command to its end: exit code and what it wrote to stderr."""
    process = Command(*words, before=before)
    _, errors = process.communicate(timeout=TIMEOUT)
    return process.returncode, errors


def _run(
    words: list[str],
    env: dict[str, str],
    folder: str,
    before: Callable[[], None] | None,
    errors: Connection,
) -> None:
    multiprocessing.set_start_method(None, force=True)  # as in a process started by hand
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(errors.fileno(), 2)
    errors.close()
    if before is not None:
        before()
    sys.exit(main(words))


def two_together(worker: Callable[[int, Path], None], folder: Path) -> None:
    """Call a function with 0 and with 1, each in a process that was launched as torchrun does."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    torch.multiprocessing.start_processes(
        _launched, (worker, folder, port), nprocs=2, start_method="forkserver"
    )


def _launched(rank: int, worker: Callable[[int, Path], None], folder: Path, port: int) -> None:
    torch.set_num_threads(1)
    launched = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2}
    os.environ.update({key: str(value) for key, value in launched.items()})
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    worker(rank, folder)
