"""Arrays (.npy) and tables (parquet, Arrow) from any source.

Arrays are plain numbers or texts, never pickles, and no larger than their file. Tables are packed:
a file of a few kilobytes can unpack to more than the memory holds, and is refused in time.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tagfill.errors import TagfillError

if TYPE_CHECKING:
    import pyarrow as pa

MOST_UNPACKED, MOST_TIMES = 256_000_000, 300
"""Bytes any table may unpack to, and how many times its own size a large file may."""
_ROWS = 1_000  # unpacked at a time: few enough that even long texts fit into the memory
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


def read_parquet(path: Path) -> pa.Table:
    """The table in a parquet file.

    Raises:
        TagfillError: it cannot be read, or unpacks to far more than such a file should.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
        table = bounded_table(file.iter_batches(_ROWS), file.schema_arrow, path)
        table.validate(full=True)
        return table
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise TagfillError(f"not readable as parquet ({error})", file=path) from None


def bounded_table(batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path) -> pa.Table:
    """The table of some batches of rows of a file, given up where they are far too many."""
    import pyarrow as pa

    budget, parts = Budget(path), []
    for batch in batches:
        budget.spend(sum(_unpacked_size(column) for column in batch.columns))
        parts.append(batch)
    return pa.Table.from_batches(parts, schema)


class Budget:
    """What a file may unpack to."""

    def __init__(self, path: Path) -> None:
        self._path, self._spent = path, 0
        self._most = max(MOST_UNPACKED, MOST_TIMES * path.stat().st_size)

    def spend(self, size: int) -> None:
        """Count bytes that were unpacked.

        Raises:
            TagfillError: they are far more than such a file should hold.
        """
        self._spent += size
        if self._spent > self._most:
            raise TagfillError(
                f"unpacks to more than {self._most:,} bytes, too many for a file of its size",
                file=self._path,
            )


def _unpacked_size(column: pa.Array) -> int:
    """Bytes of a column, as if a text that it names many times were written as often."""
    whole = column.dictionary_decode() if hasattr(column, "dictionary_decode") else column
    return int(whole.nbytes)
