"""Array files (.npy) of anybody: plain numbers or texts, never pickles, no larger than the file."""

from __future__ import annotations

import math
import mmap
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagfill.errors import TagfillError

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_array(file: str | Path, *, mapped: bool = False) -> npt.NDArray[Any]:
    """The array in a file.

    Args:
        file: a ``.npy`` file.
        mapped: read values when they are used, for files larger than the memory.

    Raises:
        TagfillError: there is no such file, it is a pipe or device, or holds anything else.
    """
    path = Path(file)
    if not path.exists():
        raise TagfillError("no such file", file=path)
    if not path.is_file():
        raise TagfillError("is not a regular file", file=path)
    try:
        _check_header(path)
        array: npt.NDArray[Any] = np.load(
            path, mmap_mode="r" if mapped else None, allow_pickle=False
        )
        return array
    except Exception as error:  # a damaged header leads numpy to anything
        raise TagfillError(f"is not a readable .npy file ({error})", file=path) from error


def release_pages(array: npt.NDArray[Any]) -> None:
    """Leave what was read of a mapped file to the system; it is read again where it is used."""
    pages: mmap.mmap | None = getattr(array, "_mmap", None)
    if pages is None or not hasattr(mmap, "MADV_DONTNEED"):
        return
    if isinstance(array, np.memmap) and array.mode != "c":  # whose changes are in memory alone
        pages.madvise(mmap.MADV_DONTNEED)


def _check_header(path: Path) -> None:
    with path.open("rb") as stream:
        version = np.lib.format.read_magic(stream)
        if version not in _HEADERS:
            raise ValueError(f"version {version[0]} of the format is not supported")
        shape, _, dtype = _HEADERS[version](stream)
        if dtype.hasobject or dtype.kind not in "biufSU":
            raise ValueError(f"it holds {dtype}, not numbers or texts")
        if any(isinstance(size, bool) or size < 0 for size in shape):
            raise ValueError(f"{shape} is not a shape")
        if math.prod(shape) * dtype.itemsize > path.stat().st_size:
            raise ValueError("it is shorter than it should be")
