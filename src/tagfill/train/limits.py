"""When to stop: a request of the user, or the time limit."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM)


class Interrupted(Exception):  # noqa: N818 - not a fault
    """The user asked to stop; a checkpoint was saved."""


@dataclass
class Limits:
    """When to stop early and how often to save."""

    deadline: float | None = None
    save_seconds: float = 5.0
    stop_requested: bool = False


@contextmanager
def stop_on_signal(limits: Limits) -> Iterator[None]:
    """First Ctrl-C or SIGTERM: stop after the batch with a checkpoint. Second: immediately."""

    def ask_to_stop(number: int, frame: Any) -> None:
        if limits.stop_requested:
            raise KeyboardInterrupt
        limits.stop_requested = True

    before: dict[signal.Signals, Any] = {}
    try:
        for number in STOPPING:
            before[number] = signal.signal(number, ask_to_stop)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
