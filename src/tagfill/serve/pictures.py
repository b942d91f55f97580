"""Photos for the browser: reduced, encoded again, without metadata."""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path

from PIL import Image

from tagfill.images import open_image


class Size(IntEnum):
    """Available longer sides, in pixels."""

    TINY = 160
    SMALL = 320
    MEDIUM = 640
    LARGE = 1600


CACHE_BYTES = 128_000_000
_QUALITY = 85


class Pictures:
    """Encoded photos by row and size; the latest ones are kept in memory."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._kept: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def jpeg(self, row: int, size: int) -> bytes:
        """A photo whose longer side has at most ``size`` pixels."""
        key = row, size
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        encoded = encode(self.open(row, size), size)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = encoded
                self._bytes += len(encoded)
            while self._bytes > CACHE_BYTES:
                self._bytes -= len(self._kept.popitem(last=False)[1])
        return encoded

    def open(self, row: int, size: int | None = None) -> Image.Image:
        """The photo itself, upright RGB."""
        return open_image(self._paths[row], size)


def encode(image: Image.Image, size: int) -> bytes:
    """An image as JPEG without metadata, of limited size."""
    image.thumbnail((size, size), Image.Resampling.LANCZOS)
    stream = io.BytesIO()
    image.convert("RGB").save(stream, "JPEG", quality=_QUALITY)
    return stream.getvalue()
