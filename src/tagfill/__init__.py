"""tagfill: multi-label image classifiers from incomplete labels, and the missing tags filled in."""

from __future__ import annotations

import importlib
import inspect
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tagfill.compat import wait_passively

if TYPE_CHECKING:
    from tagfill.api.functions import compare as compare
    from tagfill.api.functions import explain, export, fit, open_run, predict, recover, report
    from tagfill.api.functions import resume as resume
    from tagfill.api.run import Run
    from tagfill.errors import TagfillError
    from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Dataset, LabelTable
    from tagfill.labels.io import load_labels, save_labels
    from tagfill.models.bundle import load
    from tagfill.report.page import write_report

__version__ = "0.1.0"

wait_passively()

_PUBLIC = {
    "NEGATIVE": "tagfill.labels",
    "POSITIVE": "tagfill.labels",
    "UNKNOWN": "tagfill.labels",
    "Dataset": "tagfill.labels",
    "LabelTable": "tagfill.labels",
    "Run": "tagfill.api.run",
    "TagfillError": "tagfill.errors",
    "compare": "tagfill.api.functions",
    "fit": "tagfill.api.functions",
    "load": "tagfill.api.files",
    "load_labels": "tagfill.api.files",
    "open_run": "tagfill.api.functions",
    "resume": "tagfill.api.functions",
    "save_labels": "tagfill.api.files",
    "write_report": "tagfill.api.files",
}
_VERBS = {"explain", "export", "predict", "recover", "report"}
"""Packages that can be called like functions: ``tagfill.recover(run)``."""
_MODULES = {"evaluate", "losses", "methods", "models", "observe", "priors", "scenes", "sklearn"}

__all__ = [
    "NEGATIVE",
    "POSITIVE",
    "UNKNOWN",
    "Dataset",
    "LabelTable",
    "Run",
    "TagfillError",
    "compare",
    "explain",
    "export",
    "fit",
    "load",
    "load_labels",
    "open_run",
    "predict",
    "recover",
    "report",
    "resume",
    "save_labels",
    "write_report",
]


class _Verb(ModuleType):
    """A callable package: ``tagfill.explain(...)`` calls the function of that name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function)

    @property
    def _function(self) -> Any:
        functions = importlib.import_module("tagfill.api.functions")
        return getattr(functions, self.__name__.rpartition(".")[2])


class _Package(ModuleType):
    """This package; its verbs are callable in whatever order modules are imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _VERBS and type(value) is ModuleType:
            value.__class__ = _Verb
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """Import public names when they are first used, so that ``import tagfill`` is quick."""
    if name in _MODULES | _VERBS:
        return importlib.import_module(f"tagfill.{name}")
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'tagfill' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})
