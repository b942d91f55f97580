"""The environment: waiting threads, malloc, a partial torchvision, the cache, optional extras."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from tagfill.errors import TagfillError

_library: Any = None  # keeps the declared operators alive


def wait_passively() -> None:
    """Let OpenMP's threads sleep while they wait; by default they spin.

    Spinning threads take CPU time from other processes: with one other busy process, half of the
    throughput is lost. The library reads the setting once, so it must be set before torch loads.
    """
    if "torch" not in sys.modules:
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def cache_root() -> Path:
    """Where features and graphs are kept: ``$TAGFILL_CACHE``, else the user's cache folder."""
    own = os.environ.get("TAGFILL_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tagfill"


def mend_torchvision() -> bool:
    """Make ``import torchvision`` work with a torch build that does not match its C++ library.

    Some package registries have torchvision only as a CUDA build. With a CPU torch its library
    cannot load, and importing torchvision (and so timm) fails because the operator ``nms``, for
    which it registers a meta kernel, was never declared. Declaring it is enough: nothing here calls
    it. Does nothing if torchvision works or was imported already.

    Returns:
        Whether the operators had to be declared.
    """
    global _library
    if "torchvision" in sys.modules or _library is not None or _torchvision_library_loads():
        return False
    import torch

    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor boxes, Tensor scores, float threshold) -> Tensor")
    _library = library
    return True


def _torchvision_library_loads() -> bool:
    import importlib.util

    import torch

    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        return True
    for file in Path(spec.origin).parent.glob("_C*"):
        try:
            torch.ops.load_library(str(file))
        except OSError:
            return False
    return hasattr(torch.ops.torchvision, "nms")


_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # of mallopt(3)


def keep_freed_memory() -> bool:
    """Let glibc keep freed blocks for the next batch instead of returning them to the system.

    By default every activation above a few megabytes is mapped, zeroed page by page and returned
    again, at every layer of every batch: a third to a half of the time of a network on the CPU
    (`benchmarks/memory_reuse.py`). Peak memory stays as it is, but is held until the process ends.

    Returns:
        Whether the C library accepted the setting; only glibc has it.
    """
    mallopt = _of_the_c_library("mallopt")
    return mallopt is not None and bool(mallopt(_M_MMAP_MAX, 0) and mallopt(_M_TRIM_THRESHOLD, -1))


def return_freed_memory() -> None:
    """Give freed blocks back to the system between steps that need large ones of other sizes."""
    malloc_trim = _of_the_c_library("malloc_trim")
    if malloc_trim is not None:
        malloc_trim(0)


def _of_the_c_library(name: str) -> Callable[..., int] | None:
    """A function of glibc; None elsewhere."""
    import ctypes

    if not sys.platform.startswith("linux"):
        return None
    try:
        function: Callable[..., int] = getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return None
    return function


def optional(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise TagfillError(
            f"this needs {module.partition('.')[0]}, which is not installed",
            remedy=from_clone(extra),
        ) from error


def from_clone(extra: str) -> str:
    """How to install an extra; the package is not on an index."""
    return f"in the folder of the clone: pip install -c constraints.txt -e '.[{extra}]'"
