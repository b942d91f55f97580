"""The search space of a method's hyper-parameters.

A method's module may define it in ``SEARCH``, a dictionary from setting to ``Range`` or a tuple of
choices. Without one, every positive number among its settings is tried from a fifth to five times
its default, as far as the method accepts that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from tagfill import methods
from tagfill.errors import TagfillError

_AROUND = 5.0
_GUARD = 1e-3  # a smaller eps only keeps logarithms finite and is not tuned


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, evenly in their logarithm or in themselves."""

    low: float
    high: float
    log: bool = True
    whole: bool = False


Values = Range | tuple[Any, ...]
"""A range, or choices."""


def search_space(name: str, preset: str | None = None) -> dict[str, Values]:
    """The values to try for each setting of a method.

    Args:
        preset: whose values the ranges are around.
    """
    module = methods.find(name)
    own: Mapping[str, Values] | None = getattr(module, "SEARCH", None)
    if own is not None:
        return dict(own)
    config = methods.configure(name, None, preset)
    hints = get_type_hints(module.Config)
    space: dict[str, Values] = {}
    for field in dataclasses.fields(module.Config):
        default = getattr(config, field.name)
        if _is_tunable(field.name, hints[field.name], default):
            values = _around(name, preset, field.name, float(default))
            if values is not None:
                space[field.name] = values
    return space


def _is_tunable(name: str, hint: Any, value: Any) -> bool:
    takes_float = hint is float or float in get_args(hint)
    if not takes_float or not isinstance(value, int | float):
        return False
    return value > (_GUARD if name == "eps" else 0)


def _around(name: str, preset: str | None, setting: str, default: float) -> Range | None:
    """From a fifth of the default to five times it, or to 1 if that is the limit."""
    for high in (default * _AROUND, 1.0):
        low = default / _AROUND
        if high > default and all(_accepts(name, preset, setting, value) for value in (low, high)):
            return Range(low, high)
    return None


def _accepts(name: str, preset: str | None, setting: str, value: float) -> bool:
    try:
        methods.configure(name, {setting: value}, preset)
    except TagfillError:
        return False
    return True
