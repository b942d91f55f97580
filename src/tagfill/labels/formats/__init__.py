"""Label formats, found by listing this folder.

A format module holds one ``FORMAT = Format(...)``, or several as ``FORMATS``. To add a format, add
a module; nothing else needs to change.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from tagfill.errors import TagfillError, nearest
from tagfill.labels.formats.base import Absent, Difficult, Format, ReadOptions

__all__ = ["Absent", "Difficult", "Format", "ReadOptions", "find", "formats"]


@cache
def formats() -> dict[str, Format]:
    """All formats by name."""
    known: dict[str, Format] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name != "base" and not module.name.startswith("_"):
            content = importlib.import_module(f"{__name__}.{module.name}")
            several: tuple[Format, ...] = getattr(content, "FORMATS", None) or (content.FORMAT,)
            known |= {label_format.name: label_format for label_format in several}
    return dict(sorted(known.items()))


def find(name: str) -> Format:
    """The format of that name."""
    if name not in formats():
        raise TagfillError(
            f"unknown label format {name!r}",
            remedy=f"{nearest(name, formats())}use one of {', '.join(formats())}",
        )
    return formats()[name]
