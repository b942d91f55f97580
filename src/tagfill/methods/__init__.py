"""Methods, one module each or one per family of variants (see ``base``).

``find("role")`` returns a method's module: from this folder, from an installed package that
declares an entry point in the group ``tagfill.methods``, or from a Python file
(``find("path/to/mine.py")``) that the user named (``tagfill.trust``).
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, cast

from tagfill.errors import TagfillError, nearest
from tagfill.methods.base import Method, MethodModule, StagePlan
from tagfill.settings import configured
from tagfill.trust import is_file, require_trust

AUTO = "likelihood"
"""The method of ``auto``; the evidence is in docs/choosing.md."""
ENTRY_POINTS = "tagfill.methods"
_NOT_METHODS = {"base"}


def names() -> list[str]:
    """All methods that can be named, in alphabetical order."""
    return sorted({*own_names(), *_declared()})


def own_names() -> tuple[str, ...]:
    """The methods of this package."""
    return tuple(sorted(_own()))


def find(name: str) -> MethodModule:
    """The module of a method, by its name or the path of a Python file.

    For a module that several methods share it is the ``NamedMethod``, with the same interface.
    """
    if is_file(name):
        return _from_file(Path(name))
    if name in _own():
        return _own()[name]
    if name in _declared():
        return _checked(_declared()[name].load(), name)
    remedy = f"{nearest(name, names())}use one of {', '.join(names())}"
    raise TagfillError(f"unknown method {name!r}", remedy=remedy)


def configure(
    name: str, settings: Mapping[str, Any] | None = None, preset: str | None = None
) -> Any:
    """A method's ``Config`` from a preset and single settings; unknown names are errors."""
    module = find(name)
    return configured(name, module.Config, getattr(module, "PRESETS", {}), settings, preset)


def make(name: str, settings: Mapping[str, Any] | None = None, preset: str | None = None) -> Method:
    """Build a method by name."""
    module = find(name)
    method = module.build(configure(name, settings, preset))
    if not hasattr(method, "needs"):
        method.needs = module.INFO.needs
    if not hasattr(method, "name"):
        method.name = name
    return method


def staged_names() -> list[str]:
    """The methods that have a schedule of stages of their own."""
    return [name for name in names() if hasattr(find(name), "stages")]


def stages(
    name: str, settings: Mapping[str, Any] | None = None, preset: str | None = None
) -> tuple[StagePlan, ...]:
    """The stages of a method's own schedule; empty if it has none."""
    plan = getattr(find(name), "stages", None)
    return () if plan is None else tuple(plan(configure(name, settings, preset)))


def head_settings(
    name: str, settings: Mapping[str, Any] | None = None, preset: str | None = None
) -> dict[str, Any]:
    """Settings of the head that a method needs, of a linear one if it needs no other."""
    required = getattr(find(name), "head_settings", None)
    return {} if required is None else dict(required(configure(name, settings, preset)))


def fixed_by_head(name: str, head_settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a method that follow from the user's head settings."""
    fixed = getattr(find(name), "fixed_by_head", None)
    return {} if fixed is None else dict(fixed(head_settings))


@cache
def _own() -> dict[str, MethodModule]:
    known: dict[str, MethodModule] = {}
    for entry in pkgutil.iter_modules(__path__):
        if entry.name[0] != "_" and entry.name not in _NOT_METHODS:
            module = importlib.import_module(f"{__name__}.{entry.name}")
            shared = getattr(module, "METHODS", None)
            known |= {entry.name: cast(MethodModule, module)} if shared is None else shared
    return known


@cache
def _declared() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def _from_file(path: Path) -> MethodModule:
    if not path.is_file():
        raise TagfillError("no such method file", file=path)
    require_trust(path)
    spec = importlib.util.spec_from_file_location(f"tagfill_method_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return _checked(module, str(path))


def _checked(module: Any, source: str) -> MethodModule:
    for part in ("INFO", "Config", "build"):
        if not hasattr(module, part):
            raise TagfillError(f"the module of a method must define {part}", file=source)
    return cast(MethodModule, module)
