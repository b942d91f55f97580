"""When to stop: the user's wish, the clock."""

from __future__ import annotations

from dataclasses import dataclass


class Interrupted(Exception):  # noqa: N818 - not a fault
    """The user asked to stop; a checkpoint has been kept."""


@dataclass
class Limits:
    """When to stop early and how often to save."""

    deadline: float | None = None
    save_seconds: float = 5.0
    stop_requested: bool = False
