"""Description of a method, from its module and docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import re
from dataclasses import dataclass
from typing import Any, get_type_hints

from tagfill.methods import find
from tagfill.methods.base import Needs
from tagfill.settings import shown

_ARGUMENT = re.compile(r"^    (?P<names>\w+(?:, \w+)*): (?P<text>.*)$")


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
    texts: dict[str, str] = {}
    _, _, section = inspect.cleandoc(docstring).partition("Args:\n")
    current: list[str] = []
    for line in section.splitlines():
        if line and not line.startswith(" "):
            break
        match = _ARGUMENT.match(line)
        if match:
            current = match["names"].split(", ")
            texts |= dict.fromkeys(current, match["text"])
        elif line.strip():
            texts |= {name: f"{texts[name]} {line.strip()}" for name in current}
    return texts


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
