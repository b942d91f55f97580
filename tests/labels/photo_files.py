"""Small photos with keywords inside: XMP packets and IPTC segments."""

from __future__ import annotations

import struct
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tagfill.labels.photos import Keywords
from tagfill.labels.photos.packet import changed_packet

FORMATS = {"jpg": "JPEG", "png": "PNG", "webp": "WEBP", "tif": "TIFF"}


def packet(*tags: str, paths: tuple[str, ...] = ()) -> bytes:
    return changed_packet(None, Keywords(tags, tuple(tuple(path.split("|")) for path in paths)))


def photo(path: Path, xmp: bytes | None = None, **options: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.new("RGB", (8, 8), (200, 10, 10))
    if xmp is not None and path.suffix == ".png":
        text = PngInfo()
        text.add_itxt("XML:com.adobe.xmp", xmp.decode())
        options["pnginfo"] = text
    elif xmp is not None and path.suffix == ".tif":
        options["tiffinfo"] = {700: xmp}
    elif xmp is not None:
        options["xmp"] = xmp
    image.save(path, FORMATS[path.suffix[1:]], **options)
    return path


def iptc(*keywords: bytes, character_set: bytes = b"") -> bytes:
    """An APP13 segment as Photoshop writes it."""

    def field(record: int, number: int, text: bytes) -> bytes:
        return struct.pack(">BBBH", 0x1C, record, number, len(text)) + text

    block = field(1, 90, character_set) if character_set else b""
    block += b"".join(field(2, 25, text) for text in keywords)
    block += b"\0" * (len(block) % 2)
    resource = b"8BIM" + struct.pack(">HHI", 0x0404, 0, len(block)) + block
    content = b"Photoshop 3.0\0" + resource
    return b"\xff\xed" + struct.pack(">H", len(content) + 2) + content


def with_segment(path: Path, segment: bytes) -> Path:
    content = photo(path).read_bytes()
    path.write_bytes(content[:2] + segment + content[2:])
    return path
