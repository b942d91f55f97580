"""Label formats, one module each, found by listing this folder.

A format module holds one ``FORMAT = Format(...)``. To add a format, add a module; nothing else
needs to change.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from tagfill.errors import TagfillError
from tagfill.labels.formats.base import Absent, Difficult, Format, ReadOptions

__all__ = ["Absent", "Difficult", "Format", "ReadOptions", "find", "formats"]


@cache
def formats() -> dict[str, Format]:
    """All formats by name."""
    known = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name != "base" and not module.name.startswith("_"):
            label_format: Format = importlib.import_module(f"{__name__}.{module.name}").FORMAT
            known[label_format.name] = label_format
    return known


def find(name: str) -> Format:
    """The format of that name."""
    if name not in formats():
        raise TagfillError(
            f"unknown label format {name!r}", remedy=f"use one of {', '.join(formats())}"
        )
    return formats()[name]
