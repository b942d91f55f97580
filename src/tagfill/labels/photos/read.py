"""The keywords of one photo, from its file and its sidecars."""

from __future__ import annotations

import re
import stat
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from PIL import Image, ImageFile, IptcImagePlugin

from tagfill.labels.photos.packet import Keywords, Mark, read_packet

_XP_KEYWORDS = 0x9C9E
_XMP_TAG = 700
_CHARACTER_SET, _IPTC_KEYWORD = (1, 90), (2, 25)
_PNG_IPTC, _IPTC_MARK = "Raw profile type iptc", 0x1C
_IPTC_START = re.compile(rb"\x1c[\x01\x02]")
_UTF8_ESCAPE = b"\x1b%G"
_MOST_SIDECAR = 16 << 20

T = TypeVar("T")
Scheme = Literal["stem", "name"]
"""``photo.xmp`` or ``photo.jpg.xmp``."""


@dataclass(frozen=True)
class Photo:
    """Tags and metadata of one photo.

    Args:
        tags: keywords, confirmed by being there.
        paths: keywords as paths, the most general name first.
        suggested: unconfirmed tags that a model proposed.
        rejected: tags a person rejected.
        confirmed: tags a person confirmed that a model had suggested.
        faults: sentences on what could not be read.
    """

    tags: tuple[str, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()
    suggested: Mapping[str, Mark] = field(default_factory=dict)
    rejected: frozenset[str] = frozenset()
    confirmed: frozenset[str] = frozenset()
    faults: tuple[str, ...] = ()

    @property
    def has_keywords(self) -> bool:
        return bool(self.tags or self.paths or self.suggested or self.rejected)


def read_photo(path: Path, siblings: set[str] | None = None) -> Photo:
    """Read the keywords of a photo; broken metadata is recorded as a fault, not raised.

    Args:
        path: the image file.
        siblings: names of the files in its folder, where they are known.
    """
    faults: list[str] = []
    packets = [embedded_keywords(path, faults)]
    for file in sidecars_of(path, siblings):
        packet = sidecar_keywords(file, faults)
        if packet is not None:
            packets.append(packet)
    return _joined(packets, faults)


def sidecar_keywords(file: Path, faults: list[str]) -> Keywords | None:
    try:
        if not stat.S_ISREG(file.stat().st_mode) or file.stat().st_size > _MOST_SIDECAR:
            raise ValueError("is no XMP file")
        return read_packet(file.read_bytes())
    except (OSError, ValueError) as error:
        faults.append(f"sidecar {file.name}: {error}")
        return None


def embedded_keywords(path: Path, faults: list[str]) -> Keywords:
    """The keywords inside an image file: XMP, IPTC and EXIF together."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ValueError("is not a regular file")
        with Image.open(path) as image:
            xmp = _attempt(lambda: _xmp(image), faults, "XMP") or Keywords()
            more = [
                *(_attempt(lambda: _iptc(image), faults, "IPTC") or ()),
                *(_attempt(lambda: _exif(image), faults, "EXIF") or ()),
            ]
    except Exception as error:  # decoders raise whatever a broken file leads them to
        faults.append(f"metadata cannot be read: {error}")
        return Keywords()
    return Keywords(_unique([*xmp.tags, *more]), xmp.paths, xmp.marks)


def packet_in(image: Image.Image) -> bytes | None:
    packet: Any = image.info.get("xmp")
    if packet is None and image.format == "TIFF":
        packet = image.tag_v2.get(_XMP_TAG)  # type: ignore[attr-defined]
    if packet is None and image.format == "PNG":
        packet = image.info.get("XML:com.adobe.xmp")
    return packet.encode() if isinstance(packet, str) else packet


def _xmp(image: Image.Image) -> Keywords:
    packet = packet_in(image)
    return Keywords() if not packet else read_packet(packet)


def _iptc(image: ImageFile.ImageFile) -> list[str]:
    records: Mapping[Any, Any] = IptcImagePlugin.getiptcinfo(image) or _png_profile(image)
    fields = records.get(_IPTC_KEYWORD) or []
    character_set = records.get(_CHARACTER_SET)
    texts = [
        _decoded(text, character_set)
        for text in ([fields] if isinstance(fields, bytes) else fields)
    ]
    return [text.strip("\0 ") for text in texts]


def _png_profile(image: ImageFile.ImageFile) -> Mapping[Any, Any]:
    """The IPTC records that a PNG carries as hexadecimal text."""
    text = image.info.get(_PNG_IPTC)
    if not isinstance(text, str):
        return {}
    block = bytes.fromhex("".join(text.split()[2:]))
    records: dict[tuple[int, int], list[bytes]] = {}
    start = _IPTC_START.search(block)
    place = start.start() if start else len(block)
    while place <= len(block) - 5 and block[place] == _IPTC_MARK:
        record, number, size = struct.unpack_from(">BBH", block, place + 1)
        records.setdefault((record, number), []).append(block[place + 5 : place + 5 + size])
        place += 5 + size
    return {key: values if len(values) > 1 else values[0] for key, values in records.items()}


def _decoded(text: bytes, character_set: Any) -> str:
    """IPTC text: UTF-8 if declared or valid, else Windows Latin-1."""
    if character_set == _UTF8_ESCAPE:
        return text.decode("utf-8", errors="replace")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("cp1252", errors="replace")


def _exif(image: Image.Image) -> list[str]:
    value: Any = image.getexif().get(_XP_KEYWORDS)
    if value is None:
        return []
    raw = (
        bytes(value) if isinstance(value, tuple | list | bytes) else str(value).encode("utf-16-le")
    )
    return raw.decode("utf-16-le", errors="replace").replace("\0", ";").split(";")


def _attempt(read: Callable[[], T], faults: list[str], kind: str) -> T | None:
    try:
        return read()
    except Exception as error:
        faults.append(f"{kind} cannot be read: {error}")
        return None


def _joined(packets: Iterable[Keywords], faults: list[str]) -> Photo:
    tags: list[str] = []
    paths: list[tuple[str, ...]] = []
    suggested: dict[str, Mark] = {}
    rejected: set[str] = set()
    confirmed: set[str] = set()
    for packet in packets:
        marks = packet.marks
        paths += packet.paths
        tags += [tag for tag in packet.tags if tag not in marks or marks[tag].state != "suggested"]
        for name, mark in marks.items():
            if mark.state == "suggested" and name in packet.tags:
                suggested[name] = mark
            elif mark.state == "rejected" and name not in packet.tags:
                rejected.add(name)
            elif mark.state == "confirmed" and name in packet.tags:
                confirmed.add(name)
    sure = tuple(tag for tag in _unique(tags) if tag not in rejected)
    open_tags = {name: mark for name, mark in suggested.items() if name not in (*sure, *rejected)}
    said = [path for path in dict.fromkeys(paths) if path[-1] not in (*rejected, *open_tags)]
    answers = frozenset(rejected), frozenset(confirmed - rejected)
    return Photo(sure, tuple(said), open_tags, *answers, tuple(faults))


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    plain = (text.strip().strip("\0") for text in texts)
    return tuple(dict.fromkeys(text for text in plain if text))


def sidecar(photo: Path, scheme: Scheme) -> Path:
    """Where the sidecar of a photo is by one scheme."""
    return photo.with_suffix(".xmp") if scheme == "stem" else Path(f"{photo}.xmp")


def sidecars_of(photo: Path, siblings: set[str] | None = None) -> list[Path]:
    """The sidecars a photo has: ``photo.jpg.xmp``, then ``photo.xmp`` in any case of the suffix.

    Args:
        photo: the image file.
        siblings: names of the files in its folder, where they are known.
    """
    names = (f"{photo.name}.xmp", f"{photo.name}.XMP", f"{photo.stem}.xmp", f"{photo.stem}.XMP")
    if siblings is not None:
        return [photo.with_name(name) for name in names if name in siblings]
    return [place for name in names if (place := photo.with_name(name)).is_file()]
