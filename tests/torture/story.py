"""Commands in processes of their own, disturbed on purpose, and what they leave behind."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROUNDS = int(os.environ.get("TAGFILL_TORTURE", "1"))
"""How often each test is repeated with other moments: 1 in `make test`, more in `make torture`."""
TIMEOUT = 300 if ROUNDS == 1 else 3600
"""Seconds a command may take; a machine that is tortured may be busy."""


def tagfill(*words: str | Path, **options: object) -> subprocess.Popen[str]:
    """Start a command."""
    command = [sys.executable, "-m", "tagfill", *map(str, words)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **{**pipes, **options})  # type: ignore[call-overload,no-any-return]


def finished(*words: str | Path, **options: object) -> tuple[int, str]:
    """Run a command to its end: exit code and what it wrote to stderr."""
    process = tagfill(*words, **options)
    _, errors = process.communicate(timeout=TIMEOUT)
    return process.returncode, errors


def disturbed(words: Sequence[str | Path], number: signal.Signals, seconds: float) -> int:
    """Run a command and send it a signal after a while; the exit code."""
    process = tagfill(*words)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
        process.communicate(timeout=TIMEOUT)
    return process.returncode


def model_bytes(run: Path) -> str:
    """What identifies a trained model: a hash of its tensors' file."""
    return hashlib.sha256((run / "model" / "model.safetensors").read_bytes()).hexdigest()


def leftovers(folder: Path) -> list[Path]:
    """Half-written files."""
    return [path for path in folder.rglob("*") if ".part" in path.name or ".tmp" in path.name]
