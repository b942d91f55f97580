"""A PostgreSQL server of Debian's package, started by the tests that need one."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from tests.serve.live import free_port

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
needs_postgres = pytest.mark.skipif(
    not BINARIES, reason="PostgreSQL is not installed (make services)"
)


class Cluster:
    """A PostgreSQL server of its own.

    Not in pytest's folders, which another session of pytest closes to other users when it starts.
    """

    def __init__(self) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="tagfill-postgres-")
        self.folder, self.port = Path(self._place.name), free_port()
        self.user = pwd.getpwuid(os.getuid()).pw_name
        if os.getuid() == 0:  # which PostgreSQL refuses to run as
            self.user = "postgres"
            shutil.chown(self.folder, self.user)
            for parent in self.folder.parents[:2]:
                parent.chmod(parent.stat().st_mode | 0o011)
        data = str(self.folder / "data")
        self._run("initdb", "-D", data, "-A", "trust", "--no-sync", "-U", "postgres")
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -k {self.folder}"
        log = str(self.folder / "log")
        self._run(
            "pg_ctl", "-D", str(self.folder / "data"), "-l", log, "-o", options, "-w", "start"
        )

    def kill(self) -> None:
        number = int((self.folder / "data" / "postmaster.pid").read_text().splitlines()[0])
        os.kill(number, signal.SIGKILL)

    def start_again(self) -> None:
        for _ in range(100):  # its children notice, and let go of the shared memory
            try:
                return self.start()
            except subprocess.CalledProcessError:
                time.sleep(0.2)
        raise AssertionError("PostgreSQL does not start again")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "-w", "stop")
        self._place.cleanup()

    def _run(self, name: str, *arguments: str) -> None:
        identity = {"user": self.user, "group": self.user} if os.getuid() == 0 else {}
        subprocess.run(
            [str(BINARIES[0] / name), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            timeout=60,
            **identity,
        )
