"""tagfill: multi-label image classifiers from incomplete labels, and the missing tags filled in."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagfill.errors import TagfillError
    from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Dataset, LabelTable
    from tagfill.labels.io import load_labels, save_labels
    from tagfill.models.bundle import load
    from tagfill.report.page import write_report
    from tagfill.train.api import fit

__version__ = "0.1.0"

_PUBLIC = {
    "NEGATIVE": "tagfill.labels",
    "POSITIVE": "tagfill.labels",
    "UNKNOWN": "tagfill.labels",
    "Dataset": "tagfill.labels",
    "LabelTable": "tagfill.labels",
    "TagfillError": "tagfill.errors",
    "fit": "tagfill.train.api",
    "load": "tagfill.models.bundle",
    "load_labels": "tagfill.labels.io",
    "save_labels": "tagfill.labels.io",
    "write_report": "tagfill.report.page",
}
_MODULES = {"evaluate", "losses", "methods", "models", "observe", "priors", "scenes", "sklearn"}

__all__ = [
    "NEGATIVE",
    "POSITIVE",
    "UNKNOWN",
    "Dataset",
    "LabelTable",
    "TagfillError",
    "fit",
    "load",
    "load_labels",
    "save_labels",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Import public names when they are first used, so that ``import tagfill`` is quick."""
    if name in _MODULES:
        return importlib.import_module(f"tagfill.{name}")
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'tagfill' has no attribute {name!r}")
