"""Image files: find them, decode them to upright RGB, and report missing or broken ones."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import re
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError
from PIL.TiffImagePlugin import STRIPOFFSETS, TILEOFFSETS

from tagfill.errors import Problem, TagfillError
from tagfill.files import open_regular
from tagfill.image_files import find_images, is_image_file, other_names, walk_folders
from tagfill.patience import LARGEST_IMAGE

MAX_PIXELS = 100_000_000
"""More than this is not decoded: a small file can claim any size and exhaust the memory."""
FORMATS = (
    *("JPEG", "PNG", "GIF", "BMP", "PPM", "WEBP", "TIFF", "AVIF", "JPEG2000", "DIB", "ICO", "PCX"),
    *("SGI", "TGA"),
)
"""Decoded formats: raster images only, by decoders that start no other program."""
_ROWS = 256
_CHECKED_SIZE = 32
"""Photos are checked at about this size; the whole file is still read."""
MOST_SCANS = 100
"""Progressive JPEGs have about ten."""
_SCAN, _END = 0xDA, 0xD9
_START = bytes((0xFF, _SCAN))
_MARKER = re.compile(rb"\xff+([^\x00\x01\xff\xd0-\xd8])", re.DOTALL)
"""Markers of a JPEG that have a length, and its end."""
_BLOCK = 1_000_000
_MOST_BYTES = 256_000_000
"""Larger files are not read at once to tell scans from bytes that look like them."""
Item = TypeVar("Item")
Result = TypeVar("Result")

# Pillow warns from 89 million pixels on; here MAX_PIXELS makes it an error instead.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)
# Its warnings about damaged files do not help users; what cannot be decoded is an error anyway.
warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")
logging.getLogger("PIL").addHandler(logging.NullHandler())


def open_image(source: str | Path | bytes, size: int | None = None) -> Image.Image:
    """Decode an image to upright RGB.

    EXIF orientation is applied, transparency is laid over white, 16-bit gray is scaled to 8 bits,
    and of an animation the first frame is taken.

    Args:
        source: a file, or its bytes.
        size: the caller will shrink the image to about this many pixels a side. JPEGs are then
            decoded at an eighth, a quarter or half of their size, never below ``size``: much faster
            for large photos.

    Raises:
        TagfillError: the file is missing, broken or too large to decode.
    """
    if isinstance(source, bytes):
        return _decode(io.BytesIO(source), size)[0]
    try:
        with open_photo(source) as file:
            return _decode(file, size)[0]
    except TagfillError as error:
        raise TagfillError(error.message, file=source) from error


def open_photo(path: str | Path) -> BinaryIO:
    """Open an image file to read; see ``open_regular``."""
    return open_regular(path, LARGEST_IMAGE)


def read_ahead(
    read: Callable[[Item], Result], items: Iterable[Item], *, workers: int, ahead: int
) -> Generator[Result, None, None]:
    """``read`` of every item in order, by threads that are at most ``ahead`` items in front.

    Decoding and resizing release the interpreter, so that threads overlap with a running network.
    Stopping early does not wait for pending work.
    """
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        for item in items:
            waiting.append(pool.submit(read, item))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def list_images(folder: str | Path) -> list[Path]:
    """All image files in a folder and its subfolders, sorted; suffixes in any case.

    Hidden files and folders (name starts with a dot) are left out.
    """
    return sorted(iterate_images(folder))


def iterate_images(folder: str | Path) -> Iterator[Path]:
    """The same one by one, folder by folder, without holding all names at once."""
    root = Path(folder)
    if not root.is_dir():
        raise TagfillError("no such folder", file=root)
    for directory, _, names in walk_folders(root):
        yield from (directory / name for name in names if is_image_file(name))


@dataclass(frozen=True)
class ImageCheck:
    """Result of checking the files of a list of images.

    Args:
        checked: number of images checked.
        opened: whether their files were opened, too; if not, only missing ones are known.
        missing: ids without a file.
        unreadable: ids whose file cannot be decoded.
        duplicates: groups of ids whose files hold the same bytes.
        smallest, largest: (width, height) of the images with the fewest and the most pixels.
        problems: all of this as sentences.
    """

    checked: int
    opened: bool
    missing: tuple[str, ...]
    unreadable: tuple[str, ...]
    duplicates: tuple[tuple[str, ...], ...]
    smallest: tuple[int, int] | None
    largest: tuple[int, int] | None
    problems: tuple[Problem, ...]


def check_images(
    images: Sequence[str], root: str | Path, *, decode: bool = True, workers: int | None = None
) -> ImageCheck:
    """Find the files of images, decode each and compare their bytes.

    Args:
        images: ids, relative to ``root``.
        root: the image folder.
        decode: open the files; without it only missing ones are found.
        workers: threads; by default one for each processor.
    """
    if not Path(root).is_dir():
        raise TagfillError("no such image folder", file=root)
    if workers is not None and workers < 1:
        raise TagfillError(f"workers must be at least 1, got {workers}")
    paths = find_images(root, images, workers=workers)
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        looks = list(pool.map(partial(_look, decode), paths))
    by_bytes: dict[bytes, list[str]] = defaultdict(list)
    for image, look in zip(images, looks, strict=True):
        if look.digest is not None:
            by_bytes[look.digest].append(image)
    duplicates = tuple(tuple(group) for group in by_bytes.values() if len(group) > 1)
    sizes = sorted((look.size for look in looks if look.size), key=lambda size: size[0] * size[1])
    return ImageCheck(
        checked=len(images),
        opened=decode,
        missing=tuple(i for i, look in zip(images, looks, strict=True) if look.path is None),
        unreadable=tuple(i for i, look in zip(images, looks, strict=True) if look.fault),
        duplicates=duplicates,
        smallest=sizes[0] if sizes else None,
        largest=sizes[-1] if sizes else None,
        problems=tuple(_problems(Path(root), images, looks, duplicates)),
    )


def unreadable(paths: Sequence[Path]) -> list[Path]:
    """The files that cannot be decoded."""

    def broken(path: Path) -> bool:
        try:
            open_image(path, _CHECKED_SIZE)
        except TagfillError:
            return True
        return False

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(broken, paths))
    return [path for path, bad in zip(paths, verdicts, strict=True) if bad]


def _decode(source: BinaryIO, size: int | None) -> tuple[Image.Image, tuple[int, int]]:
    """The image as upright RGB, and the (width, height) its file states."""
    try:
        with Image.open(source, formats=FORMATS) as image:
            stated = image.size
            if size is not None:
                image.draft(None, (size, size))
            if image.width * image.height > MAX_PIXELS:
                raise TagfillError(_too_large(f"{image.width} x {image.height} pixels"))
            if too_many_scans(image, source):
                raise TagfillError(f"has more than {MOST_SCANS} scans, and would take hours")
            ImageOps.exif_transpose(image, in_place=True)
            return _to_rgb(image), stated
    except TagfillError:
        raise
    except Image.DecompressionBombError as error:
        raise TagfillError(_too_large("far too many pixels")) from error
    except UnidentifiedImageError as error:
        raise TagfillError("is not an image of a known kind") from error
    except Exception as error:  # decoders raise whatever a broken file leads them to
        raise TagfillError(f"cannot be decoded: {error}") from error


def _too_large(claim: str) -> str:
    return f"claims {claim}, more than the {MAX_PIXELS:,} that are decoded"


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode == "F" or image.mode.startswith("I"):
        return _eight_bit(image).convert("RGB")
    if image.has_transparency_data:
        image = image if image.mode == "RGBA" else image.convert("RGBA")
        opaque = Image.new("RGB", image.size, "white")
        opaque.paste(image, mask=image.getchannel("A"))
        return opaque
    return image.convert("RGB")


def _eight_bit(image: Image.Image) -> Image.Image:
    """Integers are read as 16-bit; floats as 0..1, or as 0..255 if they exceed 1."""
    values = np.asarray(image)
    tops = range(0, len(values), _ROWS)  # a few rows at a time: eight bytes a pixel
    white = 65535
    if image.mode == "F":
        brightest = max(np.nanmax(values[top : top + _ROWS], initial=0) for top in tops)
        white = 255 if brightest > 1 else 1
    gray = np.empty(values.shape, dtype=np.uint8)
    for top in tops:
        part = np.nan_to_num(values[top : top + _ROWS].astype(np.float64), posinf=white, neginf=0)
        gray[top : top + _ROWS] = np.rint(np.clip(part / white, 0, 1) * 255)
    return Image.fromarray(gray)


@dataclass(frozen=True)
class _Look:
    path: Path | None = None
    size: tuple[int, int] | None = None
    digest: bytes | None = None
    fault: str | None = None


def _look(decode: bool, path: Path | None) -> _Look:
    if path is None or not decode:
        return _Look(path)
    try:
        with open_photo(path) as file:
            content = file.read()
        digest = hashlib.sha256(content).digest()
        return _Look(path, _decode(io.BytesIO(content), _CHECKED_SIZE)[1], digest)
    except TagfillError as error:
        return _Look(path, fault=error.message)


def _problems(
    root: Path,
    images: Sequence[str],
    looks: Sequence[_Look],
    duplicates: Sequence[Sequence[str]],
) -> Iterator[Problem]:
    if images and all(look.path is None for look in looks):
        yield Problem(
            "warning",
            f"none of the {len(images):,} images is in this folder, first: {images[0]!r}",
            file=str(root),
            remedy="set the folder that image ids are relative to with --images",
        )
        return
    respelled = other_names(root, images, [look.path for look in looks])
    if respelled:
        yield Problem("warning", respelled, file=str(root))
    for image, look in zip(images, looks, strict=True):
        if look.path is None:
            yield Problem("warning", "missing image", file=str(root / image))
        elif look.fault:
            yield Problem("warning", look.fault, file=str(look.path))
    for group in duplicates:
        yield Problem(
            "warning",
            f"{len(group)} images are identical: {', '.join(group)}",
            file=str(root),
        )


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
