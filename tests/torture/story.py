"""Commands in processes of their own, disturbed on purpose, and what they leave behind."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.processes import TIMEOUT, Command

ROUNDS = int(os.environ.get("TAGFILL_TORTURE", "1"))
"""How often each test is repeated with other moments: 1 in `make test`, more in `make torture`."""


def disturbed(words: Sequence[str | Path], number: signal.Signals, seconds: float) -> int:
    """Run a command and send it a signal after a while; the exit code."""
    process = Command(*words)
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
