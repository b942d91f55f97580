"""Training in the background: processes that outlive a page, and the server itself."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tagfill.api.run import Run
from tagfill.errors import TagfillError
from tagfill.files import read_text
from tagfill.labels.io import save_labels
from tagfill.serve.database import jobs
from tagfill.serve.model import is_run
from tagfill.serve.retrain import LABELS, PROGRESS, RESULT, Result
from tagfill.serve.service import Service
from tagfill.settings import misfit

FOLDER = ".review"
"""Beside the runs: labels, progress and log of every job."""
ALIVE = "alive"
"""A file that the process locks as long as it lives."""
RUNNING = "running"
COMMAND = (sys.executable, "-m", "tagfill.serve.retrain")
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
        return [self._described(dict(row)) for row in rows]

    def one(self, job: str) -> dict[str, Any] | None:
        return next((listed for listed in self.all() if listed["id"] == job), None)

    def start(self, who: str) -> dict[str, Any]:
        """Train again from the labels as they are now; refused while a training is running."""
        with self._lock:
            self.all()  # settles those that have ended
            job = secrets.token_hex(6)
            folder, home = self.service.home / FOLDER / job, self.service.home
            base = self.service.model.name.partition("-review-")[0]
            names = (home / f"{base}-review-{number}" for number in count(1))
            run = next(path for path in names if not path.exists())
            folder.mkdir(parents=True)
            with self.service.current():
                dataset = self.service.library.dataset(self.service.ledger.table)
            save_labels(dataset, folder / LABELS, format="csv_wide")
            try:
                with self.service.database.write() as connection:  # other servers wait here
                    running = sa.select(jobs.c.id).where(jobs.c.state == RUNNING)
                    if connection.execute(running).first() is not None:
                        raise TagfillError(
                            "a training is already running", remedy="wait, or cancel it"
                        )
                    child = self._children[job] = self._spawn(folder, run)
                    began = {"at": time.time(), "who": who, "state": RUNNING, "message": None}
                    place = {"pid": child.pid, "folder": str(folder), "run": str(run)}
                    row = {"id": job, **began, **place}
                    connection.execute(jobs.insert(), [row])
            except TagfillError:
                shutil.rmtree(folder)
                raise
        return self._described(row)

    def cancel(self, job: str) -> None:
        """Stop a job of this machine and remove its files."""
        row = self.one(job)
        if row is None or row["state"] != RUNNING:
            return
        self._stop(job, int(row["pid"]), Path(row["folder"]))
        self._settle(job, "canceled", None)
        run = Path(row["path"])
        if not (run / "metrics.json").is_file():
            shutil.rmtree(run, ignore_errors=True)

    def _spawn(self, folder: Path, run: Path) -> subprocess.Popen[bytes]:
        command = [*COMMAND, str(self.service.origin), str(folder), str(run)]
        with (folder / "log.txt").open("wb") as log, (folder / ALIVE).open("wb") as alive:
            fcntl.flock(alive, fcntl.LOCK_EX)
            return subprocess.Popen(  # noqa: S603 - our own interpreter, no shell
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(alive.fileno(),),
            )

    def _described(self, row: dict[str, Any]) -> dict[str, Any]:
        """A job for display; if its process has ended, its result is recorded first."""
        folder = Path(row["folder"])
        if row["state"] == RUNNING and not self._alive(row["id"], folder):
            lost = Result(state="failed", message="the process ended without a result")
            ended = _read(folder / RESULT, Result) or lost
            row["state"], row["message"] = ended["state"], ended["message"]
            self._settle(row["id"], row["state"], row["message"])
        run, running = Path(row["run"]), row["state"] == RUNNING
        return {
            **row,
            "run": run.name,
            "path": row["run"],
            "base": self.service.origin.name,
            "trained": is_run(run),
            "progress": _read(folder / PROGRESS, dict[str, Any]),
            # the clock may have been put back since
            "seconds": round(max(time.time() - row["at"], 0), 1) if running else None,
            "usual": self._usual(),
        }

    def _usual(self) -> float | None:
        """Seconds the last training took, or that of the model trained first."""
        ended = []
        for result in self.service.home.glob(f"{FOLDER}/*/{RESULT}"):
            began = result.parent / ALIVE
            if (_read(result, Result) or {}).get("state") == "done" and began.exists():
                ended.append((result.stat().st_mtime, began.stat().st_mtime))
        seconds = max(ended)[0] - max(ended)[1] if ended else -1
        return round(seconds, 1) if seconds >= 0 else self._first  # the clock was put back

    @cached_property
    def _first(self) -> float | None:
        events = Run.open(self.service.origin).events
        seconds = [event["seconds"] for event in events if event["event"] == "epoch"]
        return round(sum(seconds), 1) if seconds else None

    def _alive(self, job: str, folder: Path) -> bool:
        child = self._children.get(job)
        if child is not None:
            child.poll()  # releases a process that has ended
        try:
            with (folder / ALIVE).open("rb") as alive:
                fcntl.flock(alive, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def _stop(self, job: str, pid: int, folder: Path) -> None:
        if job not in self._children and not _is_job(pid, folder):
            raise TagfillError("the training runs on another machine", remedy="cancel it there")
        for sent in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, sent)
            deadline = time.monotonic() + _PATIENCE
            while self._alive(job, folder) and time.monotonic() < deadline:
                time.sleep(0.05)
            if not self._alive(job, folder):
                return

    def _settle(self, job: str, state: str, message: str | None) -> None:
        change = jobs.update().where(jobs.c.id == job).values(state=state, message=message)
        with self.service.database.write() as connection:
            connection.execute(change)


def _is_job(pid: int, folder: Path) -> bool:
    """Whether a process of this machine is the job's; process ids are reused."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return os.fsencode(str(folder)) in command


def _read(file: Path, kind: Any) -> Any:
    """A record of a job as a type describes it; None if there is none, or a damaged one."""
    try:
        content = json.loads(read_text(file))
    except (TagfillError, OSError, ValueError, RecursionError):
        return None
    return None if misfit(kind, content) else content
