"""Settings: TOML documents as dataclasses, and values converted to the type of their field."""

from __future__ import annotations

import dataclasses
import math
import os
import re
import tomllib
import types
from collections.abc import Mapping
from pathlib import Path
from typing import (
    Any,
    ClassVar,
    Literal,
    NotRequired,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from tagfill.errors import TagfillError, nearest
from tagfill.files import read_text


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]


T = TypeVar("T", bound=_Dataclass)

MOST_TOML = 16_000_000
"""Bytes of the largest file of settings that is read."""
_MOST_DOTS = 1e8  # squared, over all lines: tomllib takes this long for a key of tables in tables
_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def load_toml(path: Path) -> dict[str, Any]:
    """The document in a file.

    Raises:
        TagfillError: it cannot be read, or is not TOML.
    """
    return parse_toml(read_text(path, most=MOST_TOML), path)


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """The document in a text; ``path`` is named in errors."""
    if sum(line.count(".") ** 2 for line in text.splitlines()) > _MOST_DOTS:
        raise TagfillError("not valid TOML for this program: nested too deeply", file=path)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
        raise TagfillError(f"not valid TOML ({error})", file=path) from error


def build(kind: Any, document: Mapping[str, Any], path: Path, key_path: str = "") -> Any:
    """A dataclass from a document; tables become the dataclasses that its fields name.

    Raises:
        TagfillError: a key is unknown or missing, or a value does not fit its field.
    """
    hints = get_type_hints(kind)
    for key in document:
        if key not in hints:
            known = ", ".join(hints)
            raise TagfillError(f"unknown key {key_path}{key}", file=path, remedy=f"known: {known}")
    for field in dataclasses.fields(kind):
        required = field.default is field.default_factory is dataclasses.MISSING
        if required and field.name not in document:
            raise TagfillError(f"the key {key_path}{field.name} is missing", file=path)
    values = {
        key: _value(hints[key], value, path, f"{key_path}{key}") for key, value in document.items()
    }
    try:
        return kind(**values)
    except TagfillError as error:
        inside = f"{key_path.rstrip('.')}: " if key_path else ""
        raise TagfillError(f"{inside}{error}", file=path) from error


def plain(value: Any) -> Any:
    """A value as TOML can hold it: lists for tuples, None is left out."""
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items() if member is not None}
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    return value


def configured(
    name: str,
    kind: type[T],
    presets: Mapping[str, T],
    settings: Mapping[str, Any] | None = None,
    preset: str | None = None,
) -> T:
    """A configuration from a preset and single settings.

    Args:
        name: whose configuration it is, for errors.
        presets: named configurations.
        settings: values of single fields; text is converted.
        preset: the configuration to start from; the defaults if None.
    """
    if preset is not None and preset not in presets:
        known = ", ".join(presets) or "none"
        raise TagfillError(f"{name} has no preset {preset!r}", remedy=f"presets: {known}")
    hints = get_type_hints(kind)
    for setting in settings or {}:
        if setting not in hints:
            known = f"{nearest(setting, hints)}settings: {', '.join(hints) or 'none'}"
            raise TagfillError(f"{name} has no setting {setting!r}", remedy=known)
    values = {
        setting: fitted(hints[setting], value, f"{name}: {setting}")
        for setting, value in (settings or {}).items()
    }
    return dataclasses.replace(kind() if preset is None else presets[preset], **values)


def fitted_fields(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the values that are fields of a dataclass, as their types."""
    hints = get_type_hints(kind)
    return {
        name: fitted(hints[name], value, name) for name, value in values.items() if name in hints
    }


def fitted(hint: Any, value: Any, setting: str) -> Any:
    """The value as the annotated type; text, as a command line gives it, is converted.

    Raises:
        TagfillError: the value is of no type the setting takes.
    """
    for kind in _alternatives(hint):
        converted = _as(kind, value)
        if converted is not _MISFIT:
            return converted
    raise TagfillError(f"{setting} cannot be {value!r}", remedy=_takes(hint))


def _takes(hint: Any) -> str:
    """A remedy for a value of the wrong type: ``it takes a number or "auto"``."""
    return "it takes " + re.sub(r"(whole )?number", r"a \g<0>", shown(hint))


def shown(hint: Any) -> str:
    """A type as a user reads it: ``number or "auto"``."""
    names = {float: "number", int: "whole number", bool: "true or false", str: "text"}
    texts = []
    for kind in _alternatives(hint):
        if get_origin(kind) is Literal:
            texts += [f'"{choice}"' for choice in get_args(kind)]
        elif kind is not type(None):
            texts.append(names.get(kind, getattr(kind, "__name__", str(kind))))
    return " or ".join(texts)


def misfit(hint: Any, value: Any, path: str = "") -> str | None:
    """The path of the first entry of a document that is not of its type; None if all are.

    Args:
        hint: a type; of a ``TypedDict``, keys that it does not name may hold anything.
        value: what was read from a JSON or TOML file.
        path: of the value inside the document.
    """
    alternatives = _alternatives(hint)
    if len(alternatives) > 1:
        faults = [misfit(kind, value, path) for kind in alternatives]
        return None if None in faults else max(filter(None, faults), key=len)
    if hint is Any:
        return None
    if is_typeddict(hint):
        return _misfit_of_table(hint, value, path)
    kind, members = get_origin(hint) or hint, get_args(hint)
    if not (value in members if kind is Literal else _is(kind, value)):
        return path or "the whole"
    entries = value.items() if kind is dict else enumerate(value) if kind is list else ()
    faults = [misfit(members[-1], entry, f"{path}.{key}") for key, entry in entries]
    return next(filter(None, faults), None)


class _Misfit:
    """The result of a failed conversion, since None is a value."""


_MISFIT = _Misfit()


def _value(hint: Any, value: Any, path: Path, key_path: str) -> Any:
    for kind in _alternatives(hint):
        origin, members = get_origin(kind), get_args(kind)
        if dataclasses.is_dataclass(kind) and isinstance(value, dict):
            return build(kind, value, path, f"{key_path}.")
        if origin is tuple and isinstance(value, list):
            return tuple(_value(members[0], member, path, key_path) for member in value)
        if origin in (dict, Mapping) and isinstance(value, dict):
            return {
                key: _value(members[1], member, path, f"{key_path}.{key}")
                for key, member in value.items()
            }
        if kind is Any or (origin in (None, Literal) and _fits(kind, value)):
            return value
    raise TagfillError(f"{key_path} = {value!r} does not fit", file=path, remedy=_takes(hint))


def _fits(kind: Any, value: Any) -> bool:
    """Whether a value has a type; the only conversion is from int to float."""
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if isinstance(value, int) and abs(value) >= 2**63:
        return False
    accepted = (int, float) if kind is float else kind
    return isinstance(value, accepted) and (kind is bool or not isinstance(value, bool))


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
        return os.fspath(value) if isinstance(value, str | os.PathLike) else _MISFIT
    return value


def _number(kind: type[int] | type[float], value: Any) -> Any:
    if isinstance(value, bool):
        return _MISFIT
    try:
        number = kind(value)
    except (TypeError, ValueError, OverflowError):
        return _MISFIT
    return number if isinstance(value, str) or number == value else _MISFIT


def _misfit_of_table(hint: Any, value: Any, path: str) -> str | None:
    if not isinstance(value, dict):
        return path or "the whole"
    members = get_type_hints(hint)
    for key, stated in get_type_hints(hint, include_extras=True).items():
        inside = f"{path}.{key}" if path else key
        fault = misfit(members[key], value[key], inside) if key in value else None
        # postponed annotations hide NotRequired from __required_keys__
        required = key in hint.__required_keys__ and get_origin(stated) is not NotRequired
        if fault or (key not in value and required):
            return fault or inside
    return None


def _is(kind: Any, value: Any) -> bool:
    if kind in (int, float):
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
        return whole or (kind is float and isinstance(value, float) and math.isfinite(value))
    return isinstance(value, kind)
