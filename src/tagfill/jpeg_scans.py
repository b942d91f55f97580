"""Scans of a JPEG: each is a pass over the whole image, and a few bytes are enough for one."""

from __future__ import annotations

import re
from typing import Any, BinaryIO

from PIL import Image
from PIL.TiffImagePlugin import STRIPOFFSETS, TILEOFFSETS

MOST_SCANS = 100
"""Progressive JPEGs have about ten."""
_SCAN, _END = 0xDA, 0xD9
_START = bytes((0xFF, _SCAN))
_MARKER = re.compile(rb"\xff+([^\x00\x01\xff\xd0-\xd8])", re.DOTALL)
"""Markers of a JPEG that have a length, and its end."""
_BLOCK = 1_000_000
_MOST_BYTES = 256_000_000
"""Larger files are not read at once to tell scans from bytes that look like them."""


def too_many_scans(image: Image.Image, source: BinaryIO) -> bool:
    """Whether a JPEG, or a TIFF made of JPEGs, has more scans than any program writes.

    Args:
        image: opened from the source, not decoded yet.
        source: its file; the position stays.
    """
    if image.format in ("JPEG", "MPO"):
        allowed = MOST_SCANS
    elif image.format == "TIFF" and image.info.get("compression") in ("jpeg", "tiff_jpeg"):
        tags: Any = image.tag_v2  # type: ignore[attr-defined]
        allowed = MOST_SCANS + max(len(tags.get(key, ())) for key in (STRIPOFFSETS, TILEOFFSETS))
    else:
        return False
    place = source.tell()
    try:
        source.seek(0)
        if _at_most(source, allowed):
            return False
        source.seek(0)
        content = source.read(_MOST_BYTES)
        return image.format == "TIFF" or _scans_to_end(content) > MOST_SCANS
    finally:
        source.seek(place)


def _at_most(source: BinaryIO, allowed: int) -> bool:
    """Whether a file has at most this many bytes that look like the start of a scan."""
    count, last = 0, b""
    while block := source.read(_BLOCK):
        count += (last + block).count(_START)
        last = block[-1:]
        if count > allowed:
            return False
    return True


def _scans_to_end(content: bytes) -> int:
    """Scans up to the end of the JPEG; the film of a moving photo may follow."""
    count, place = 0, 2
    while count <= MOST_SCANS and (marker := _MARKER.search(content, place)):
        kind, place = marker[1][0], marker.end()
        if kind == _END:
            break
        count += kind == _SCAN
        place += int.from_bytes(content[place : place + 2], "big")
    return count
