"""Label formats, found by listing this folder.

A format module holds one ``FORMAT = Format(...)``, or several as ``FORMATS``. To add a format, add
a module; nothing else needs to change.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection
from difflib import get_close_matches
from functools import cache

from tagfill.errors import TagfillError, nearest
from tagfill.labels.formats.base import Absent, Difficult, Format, ReadOptions, Writer, Zeros

_OTHER_NAMES = dict.fromkeys(("csv", "tsv", "excel", "xlsx", "spreadsheet", "table"), "csv_wide")
_OTHER_NAMES |= {"json": "jsonl", "tags": "tag_list", "labelstudio": "label_studio"}

__all__ = [
    "Absent",
    "Difficult",
    "Format",
    "ReadOptions",
    "Zeros",
    "find",
    "find_writable",
    "formats",
]


@cache
def formats() -> dict[str, Format]:
    known: dict[str, Format] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name != "base" and not module.name.startswith("_"):
            content = importlib.import_module(f"{__name__}.{module.name}")
            several: tuple[Format, ...] = getattr(content, "FORMATS", None) or (content.FORMAT,)
            known |= {label_format.name: label_format for label_format in several}
    return dict(sorted(known.items()))


def find(name: str) -> Format:
    if name not in formats():
        raise _refused(name, formats())
    return formats()[name]


def find_writable(name: str) -> tuple[Format, Writer]:
    writable = {known: form.write for known, form in formats().items() if form.write}
    if name in formats() and name not in writable:
        remedy = f"{_nearest(name, writable)}write one of {', '.join(writable)}"
        raise TagfillError(f"{name} can only be read", remedy=remedy)
    if name not in writable:
        raise _refused(name, writable)
    return formats()[name], writable[name]


def _refused(name: str, known: Collection[str]) -> TagfillError:
    remedy = f"{_nearest(name, known)}use one of {', '.join(known)}"
    return TagfillError(f"unknown label format {name!r}", remedy=remedy)


def _nearest(name: str, known: Collection[str]) -> str:
    """A question with the format that is meant, perhaps by the program that opens it."""
    usual = get_close_matches(name.lower(), _OTHER_NAMES, n=1, cutoff=0.7)
    meant = _OTHER_NAMES[usual[0]] if usual else ""
    return f"did you mean {meant}? " if meant in known else nearest(name, known)
