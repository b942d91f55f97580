"""Training in the background: processes that outlive a page, and the server itself."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tagfill.errors import TagfillError
from tagfill.labels.io import save_labels
from tagfill.serve.database import jobs
from tagfill.serve.model import is_run
from tagfill.serve.retrain import LABELS, PROGRESS, RESULT
from tagfill.serve.service import Service

FOLDER = ".review"
"""Beside the runs: labels, progress and log of every job."""
RUNNING = "running"
_PATIENCE = 5.0  # seconds until a process that was asked to stop is killed


class Jobs:
    """Starts, watches and stops training processes; what it knows is in the database."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()

    def all(self) -> list[dict[str, Any]]:
        """All jobs, the newest first."""
        with self.service.database.read() as connection:
            rows = connection.execute(sa.select(jobs).order_by(sa.desc("at"))).mappings().all()
        return [self._told(dict(row)) for row in rows]

    def one(self, job: str) -> dict[str, Any] | None:
        """A job, or None."""
        return next((listed for listed in self.all() if listed["id"] == job), None)

    def start(self, who: str) -> dict[str, Any]:
        """Train again from the labels as they are now.

        Raises:
            TagfillError: a job is running already.
        """
        with self._lock:
            if any(listed["state"] == RUNNING for listed in self.all()):
                raise TagfillError("a training is running already", remedy="wait, or cancel it")
            job = secrets.token_hex(6)
            folder, run = self._place(job)
            self._write_labels(folder)
            child = self._spawn(folder, run)
            self._children[job] = child
            row = {
                "id": job,
                "at": time.time(),
                "who": who,
                "state": RUNNING,
                "pid": child.pid,
                "folder": str(folder),
                "run": str(run),
                "message": None,
            }
            with self.service.database.write() as connection:
                connection.execute(jobs.insert(), [row])
        return self._told(row)

    def cancel(self, job: str) -> None:
        """Stop a job and remove what it has made so far."""
        row = self.one(job)
        if row is None or row["state"] != RUNNING:
            return
        self._stop(job, int(row["pid"]))
        self._settle(job, "canceled", None)
        run = Path(row["path"])
        if not (run / "metrics.json").is_file():
            shutil.rmtree(run, ignore_errors=True)

    def _place(self, job: str) -> tuple[Path, Path]:
        home, base = self.service.home, self.service.model.name.partition("-review-")[0]
        number = 1
        while (home / f"{base}-review-{number}").exists():
            number += 1
        folder = home / FOLDER / job
        folder.mkdir(parents=True)
        return folder, home / f"{base}-review-{number}"

    def _write_labels(self, folder: Path) -> None:
        ledger = self.service.ledger
        with ledger.lock:
            ledger.refresh()
            dataset = self.service.library.dataset(ledger.table)
        save_labels(dataset, folder / LABELS, format="csv_wide")

    def _spawn(self, folder: Path, run: Path) -> subprocess.Popen[bytes]:
        base = self.service.origin
        command = [sys.executable, "-m", "tagfill.serve.retrain", str(base), str(folder), str(run)]
        with (folder / "log.txt").open("wb") as log:
            return subprocess.Popen(  # noqa: S603 - our own interpreter, no shell
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def _told(self, row: dict[str, Any]) -> dict[str, Any]:
        """A job as people see it; one whose process has ended is settled first."""
        folder = Path(row["folder"])
        if row["state"] == RUNNING and not self._alive(row["id"], row["pid"], folder):
            ended = _read(folder / RESULT) or {
                "state": "failed",
                "message": "the process ended without a result",
            }
            row["state"], row["message"] = ended["state"], ended["message"]
            self._settle(row["id"], row["state"], row["message"])
        return {
            "id": row["id"],
            "at": row["at"],
            "who": row["who"],
            "state": row["state"],
            "message": row["message"],
            "pid": row["pid"],
            "run": Path(row["run"]).name,
            "path": row["run"],
            "trained": is_run(Path(row["run"])),
            "progress": _read(folder / PROGRESS),
        }

    def _alive(self, job: str, pid: int, folder: Path) -> bool:
        child = self._children.get(job)
        if child is not None:
            return child.poll() is None
        try:  # a child of an earlier server; its number may be somebody else's by now
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return os.fsencode(str(folder)) in command

    def _stop(self, job: str, pid: int) -> None:
        deadline = time.monotonic() + _PATIENCE
        for sent in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(pid, sent)
            except (ProcessLookupError, PermissionError):
                return
            child = self._children.get(job)
            while time.monotonic() < deadline:
                if child is not None and child.poll() is not None:
                    return
                time.sleep(0.05)

    def _settle(self, job: str, state: str, message: str | None) -> None:
        change = jobs.update().where(jobs.c.id == job).values(state=state, message=message)
        with self.service.database.write() as connection:
            connection.execute(change)


def _read(file: Path) -> dict[str, Any] | None:
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content
