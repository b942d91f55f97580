"""WebDataset shards: tar files with ``key.jpg`` beside ``key.json``, ``key.cls`` or ``key.txt``."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from tagfill.errors import TagfillError
from tagfill.image_files import is_image_file
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._json import LISTS, read_lines
from tagfill.labels.formats._json_values import parse_json
from tagfill.labels.formats._names import names_tags
from tagfill.labels.formats.base import Format, Source

_TEXTS = (".cls", ".txt", ".tags")
_LABELS = (".json", *_TEXTS)
_MOST_BYTES = 1 << 20
"""Most bytes of the labels of one image."""


def _shards(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob("*.tar"))
    return [path] if path.suffix.lower() == ".tar" and path.is_file() else []


def _detect(path: Path) -> bool:
    shards = _shards(path)
    return bool(shards) and tarfile.is_tarfile(shards[0])


def _read(source: Source) -> Dataset:
    shards = _shards(source.path)
    if not shards:
        raise source.refusal("it has no .tar file")
    lines = []
    for shard in shards:
        for key, files in _samples(shard).items():
            image = next((suffix for suffix in files if is_image_file(f"x{suffix}")), None)
            if image is not None:
                name = f"{key}{image}"
                lines.append({**_labels(name, files, source, shard), "file_name": name})
    note = "images are inside the tar files; training unpacks them into the cache"
    return read_lines(source, list(enumerate(lines, 1)), [note])


def _members(shard: Path) -> Iterator[tuple[PurePosixPath, int, Callable[[], bytes]]]:
    """The files of a shard: names, sizes, and their content when it is asked for."""
    try:
        shard_size = shard.stat().st_size
        with tarfile.open(shard, "r:") as archive:  # a compressed one may unpack to any size
            for member in archive:
                place = PurePosixPath(member.name)
                if member.size > shard_size:  # a sparse file
                    raise ValueError(f"{member.name!r} claims {member.size:,} bytes")
                stream = archive.extractfile(member) if member.isfile() else None
                if stream is not None and not place.name.startswith("."):
                    yield place, member.size, stream.read
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        raise TagfillError(f"not readable as a tar file ({error})", file=shard) from None


def _samples(shard: Path) -> dict[str, dict[str, bytes]]:
    """The files of each key; label files with their content."""
    samples: dict[str, dict[str, bytes]] = {}
    for place, size, content in _members(shard):
        stem, dot, suffix = place.name.partition(".")
        small = f".{suffix.lower()}" in _LABELS and size <= _MOST_BYTES
        files = samples.setdefault(str(place.parent / stem), {})
        files[dot + suffix] = content() if small else b""
    return samples


def _images(path: Path) -> Iterator[tuple[str, bytes]]:
    for shard in _shards(path):
        for place, _, content in _members(shard):
            if is_image_file(place):
                yield str(place), content()


def _text(files: dict[str, bytes], suffix: str) -> str:
    return b"".join(files[s] for s in files if s.lower() == suffix).decode("utf-8", "replace")


def _labels(image: str, files: dict[str, bytes], source: Source, shard: Path) -> dict[str, Any]:
    """What the files of an image say: its JSON, and the tags in texts where that has none."""
    text = _text(files, ".json")
    document = parse_json(text, shard) if text else {}
    if not isinstance(document, dict):
        source.problems.error(f"the labels of {image!r} are not a JSON object", file=shard)
        document = {}
    tags = "\n".join(text for suffix in _TEXTS if (text := _text(files, suffix)))
    stated = any(
        names_tags(key) or key in LISTS or value in (0, 1) for key, value in document.items()
    )
    return document if stated or not tags else {**document, "tags": tags}


FORMAT = Format(
    "webdataset",
    "WebDataset tar shards: key.jpg beside key.json, key.cls or key.txt",
    _detect,
    _read,
    images=_images,
)
