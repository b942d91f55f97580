"""Hyper-parameters from outside, as the type their field has."""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin

from tagfill.errors import TagfillError

_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def fitted(hint: Any, value: Any, setting: str) -> Any:
    """The value as the annotated type; text, as a command line gives it, is converted.

    Raises:
        TagfillError: the value is of no type the setting takes.
    """
    for kind in _alternatives(hint):
        converted = _as(kind, value)
        if converted is not _MISFIT:
            return converted
    raise TagfillError(f"{setting} cannot be {value!r}", remedy=f"it takes {shown(hint)}")


def shown(hint: Any) -> str:
    """A type as a user reads it: ``number or "auto"``."""
    names = {float: "number", int: "whole number", bool: "true or false", str: "text"}
    parts = []
    for kind in _alternatives(hint):
        if get_origin(kind) is Literal:
            parts += [f'"{choice}"' for choice in get_args(kind)]
        elif kind is not type(None):
            parts.append(names.get(kind, getattr(kind, "__name__", str(kind))))
    return " or ".join(parts)


class _Misfit:
    """The answer of a conversion that failed, where None is a value."""


_MISFIT = _Misfit()


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _as(kind: Any, value: Any) -> Any:
    if get_origin(kind) is Literal:
        return value if value in get_args(kind) else _MISFIT
    if kind is type(None):
        return None if value in (None, "none") else _MISFIT
    if kind is bool:
        return value if isinstance(value, bool) else _WORDS.get(str(value).lower(), _MISFIT)
    if kind in (int, float):
        return _number(kind, value)
    if kind is str:
        return value if isinstance(value, str) else _MISFIT
    return value


def _number(kind: type[int] | type[float], value: Any) -> Any:
    if isinstance(value, bool):
        return _MISFIT
    try:
        number = kind(value)
    except (TypeError, ValueError):
        return _MISFIT
    return number if isinstance(value, str) or number == value else _MISFIT
