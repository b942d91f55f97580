"""Description of a method, from its module and docstrings."""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass
from typing import Any, get_type_hints

from docstring_parser import parse

from tagfill.methods import find
from tagfill.methods.base import Needs
from tagfill.settings import shown


@dataclass(frozen=True)
class Setting:
    """One hyper-parameter."""

    name: str
    type: str
    default: Any
    doc: str


@dataclass(frozen=True)
class Description:
    """Description of one method.

    Args:
        source: paper and section or equation.
        presets: for each, the settings in which it differs from the defaults.
    """

    name: str
    title: str
    source: str
    alias_of: str | None
    needs: dict[str, str]
    text: str
    settings: tuple[Setting, ...]
    presets: dict[str, dict[str, Any]]


def describe(name: str) -> Description:
    """Read a method's module."""
    module: Any = find(name)
    return Description(
        name=name,
        title=module.INFO.title,
        source=module.INFO.source,
        alias_of=module.INFO.alias_of,
        needs=_needs(module.INFO.needs),
        text=inspect.getdoc(module) or "",
        settings=_settings(module.Config),
        presets={
            preset: _difference(module.Config, config)
            for preset, config in getattr(module, "PRESETS", {}).items()
        },
    )


def documented_arguments(docstring: str) -> dict[str, str]:
    """Names and texts of a Google-style ``Args`` section."""
    return {
        name: " ".join((argument.description or "").split())
        for argument in parse(docstring).params
        for name in argument.arg_name.split(", ")
    }


def _needs(needs: Needs) -> dict[str, str]:
    words = documented_arguments(Needs.__doc__ or "")
    return {
        field.name: words[field.name].rstrip(".")
        for field in dataclasses.fields(needs)
        if getattr(needs, field.name)
    }


def _settings(config: type[Any]) -> tuple[Setting, ...]:
    hints, words = get_type_hints(config), documented_arguments(config.__doc__ or "")
    defaults = config()
    return tuple(
        Setting(
            field.name,
            shown(hints[field.name]),
            getattr(defaults, field.name),
            field.metadata.get("doc") or words.get(field.name, ""),
        )
        for field in dataclasses.fields(config)
    )


def _difference(config: type[Any], preset: Any) -> dict[str, Any]:
    defaults = config()
    return {
        field.name: getattr(preset, field.name)
        for field in dataclasses.fields(config)
        if getattr(preset, field.name) != getattr(defaults, field.name)
    }
