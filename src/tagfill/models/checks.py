"""Checks of a model file before anything is built from it.

A model folder may come from anyone. Nothing in it is executed, nothing is downloaded for it, and
what it asks for must be possible: numbers finite, sizes within reason, all parts of one and the
same model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tagfill.errors import TagfillError

LARGEST_SIDE = 4096
LARGEST_WIDTH = 65_536
MOST_LAYERS = 256
_ARCHITECTURE = re.compile(r"[A-Za-z0-9_.\-]{1,100}")
_TIMM_OPTIONS = {"img_size", "dynamic_img_size"}
_FETCHING = ("kernel", "implementation", "auto_map", "quantization", "trust", "checkpoint", "path")
"""Words in names of settings by which transformers would fetch or run something."""


def check_architecture(library: str, name: Any, options: Any) -> None:
    """Refuse architectures that would be downloaded, and options that load files."""
    if not isinstance(name, str) or not _ARCHITECTURE.fullmatch(name):
        raise TagfillError(
            f"the architecture {name!r} is not one of the installed {library}",
            remedy="a model folder must name an architecture by its plain name, not by a URL",
        )
    if not isinstance(options, Mapping):
        raise TagfillError("the architecture's options are not a table")
    for key, value in options.items():
        fetches = key.startswith("_") or any(word in key for word in _FETCHING)
        fetches = fetches and not _only_numbers(value)
        if (library == "timm" and key not in _TIMM_OPTIONS) or fetches:
            raise TagfillError(f"the architecture's option {key!r} may not come from a file")
        check_size(f"the architecture's option {key}", value)


def _only_numbers(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_only_numbers(member) for member in value)
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_size(name: str, value: Any) -> None:
    """Refuse numbers, also in lists and tables, that no network has."""
    if isinstance(value, Mapping):
        for key, member in value.items():
            check_size(f"{name}.{key}", member)
    elif isinstance(value, list | tuple):
        for member in value:
            check_size(name, member)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        most = MOST_LAYERS if "layers" in name or "depth" in name else LARGEST_WIDTH
        if not math.isfinite(value) or abs(value) > most:
            raise TagfillError(f"{name} = {value} is not valid")


def whole_number(name: str, value: Any, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise TagfillError(f"{name} must be a whole number from {low} to {high:,}, not {value!r}")
    return value


def numbers(
    name: str,
    values: Any,
    count: int | None = None,
    *,
    low: float = -math.inf,
    high: float = math.inf,
) -> tuple[float, ...]:
    """The values, if they are the wanted count of finite numbers in a range."""
    if isinstance(values, str | Mapping) or not isinstance(values, Sequence):
        raise TagfillError(f"{name} must be a list of numbers")
    if count is not None and len(values) != count:
        raise TagfillError(f"{name}: {count} numbers are needed, {len(values)} were given")
    for value in values:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise TagfillError(f"{name} must be numbers, not {value!r}")
        if not (math.isfinite(value) and low <= value <= high):
            between = "" if math.isinf(high) else f" from {low:g} to {high:g}"
            raise TagfillError(f"{name} must be finite numbers{between}, not {value}")
    return tuple(float(value) for value in values)


def class_names(values: Any, count: int | None = None) -> tuple[str, ...]:
    if not isinstance(values, list | tuple) or not all(isinstance(name, str) for name in values):
        raise TagfillError("the class names are not a list of words")
    if any("\ud800" <= letter <= "\udfff" for name in values for letter in name):
        raise TagfillError("a class name has half of a character (a lone surrogate)")
    if len(set(values)) != len(values) or count not in (None, len(values)):
        raise TagfillError(f"{count or len(values)} different class names are needed")
    return tuple(values)


def check_finite(state: Mapping[str, Tensor], file: Path) -> None:
    """Refuse weights that would make every score NaN."""
    for name, tensor in state.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise TagfillError(f"the tensor {name!r} holds NaN or infinite numbers", file=file)
