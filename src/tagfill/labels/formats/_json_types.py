"""JSON of unknown origin: a value of the wanted type, or None."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def listed(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def mapped(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list."""
    return [entry for entry in listed(value) if isinstance(entry, dict)]


def texts(value: Any) -> list[str]:
    """The texts of a list, without outer blanks and empty ones."""
    return [text for entry in listed(value) if isinstance(entry, str) and (text := entry.strip())]


def number(value: Any) -> float | None:
    """The value if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None
