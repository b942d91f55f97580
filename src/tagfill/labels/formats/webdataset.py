"""WebDataset shards: tar files with ``key.jpg`` beside ``key.json``, ``key.cls`` or ``key.txt``."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath

from tagfill.errors import TagfillError
from tagfill.image_files import is_image_file
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._json import LineReader, parse_json
from tagfill.labels.formats._splitter import find_splitter
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
    builder = LabelBuilder(source, free_tags=True)
    samples = [(shard, *sample) for shard in shards for sample in _samples(shard)]
    texts = [_text(files, suffix) for _, _, files in samples for suffix in _TEXTS]
    splitter = find_splitter(texts, source.options, source.path)
    builder.notes += splitter.notes
    reader = LineReader(builder, splitter)
    for shard, key, files in samples:
        _state(reader, key, files, shard)
    builder.notes.append("images are inside the tar files; training unpacks them into the cache")
    return builder.dataset()


def _members(shard: Path) -> Iterator[tuple[PurePosixPath, int, Callable[[], bytes]]]:
    """The files of a shard: names, sizes, and their content when it is asked for."""
    try:
        shard_size = shard.stat().st_size
        with tarfile.open(shard, "r:") as archive:  # a compressed one may unpack to any size
            for member in archive:
                place = PurePosixPath(member.name)
                if member.size > shard_size:  # a sparse file
                    raise ValueError(f"{member.name!r} claims {member.size:,} bytes")
                if member.isfile() and not place.name.startswith("."):
                    yield place, member.size, partial(_content, archive, member)
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        raise TagfillError(f"not readable as a tar file ({error})", file=shard) from None


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member)
    return b"" if stream is None else stream.read()


def _samples(shard: Path) -> Iterator[tuple[str, dict[str, bytes]]]:
    """The files of each key; label files with their content."""
    samples: dict[str, dict[str, bytes]] = {}
    for place, size, content in _members(shard):
        stem, dot, suffix = place.name.partition(".")
        small = f".{suffix.lower()}" in _LABELS and size <= _MOST_BYTES
        files = samples.setdefault(str(place.parent / stem), {})
        files[dot + suffix] = content() if small else b""
    yield from samples.items()


def _images(path: Path) -> Iterator[tuple[str, bytes]]:
    for shard in _shards(path):
        for place, _, content in _members(shard):
            if is_image_file(place):
                yield str(place), content()


def _text(files: dict[str, bytes], suffix: str) -> str:
    return b"".join(files[s] for s in files if s.lower() == suffix).decode("utf-8", "replace")


def _state(reader: LineReader, key: str, files: dict[str, bytes], shard: Path) -> None:
    image = next((suffix for suffix in files if is_image_file(f"x{suffix}")), None)
    if image is None:
        return
    name, builder = f"{key}{image}", reader.builder
    text = _text(files, ".json")
    if text:
        document = parse_json(text, shard)
        if isinstance(document, dict):
            reader.read(len(builder) + 1, {**document, "file_name": name})
            return
        builder.source.problems.error(f"the labels of {name!r} are not a JSON object", file=shard)
    record = builder.record(name)
    for suffix in _TEXTS:
        builder.tags(record, dict.fromkeys(reader.splitter.tags(_text(files, suffix))))


FORMAT = Format(
    "webdataset",
    "WebDataset tar shards: key.jpg beside key.json, key.cls or key.txt",
    _detect,
    _read,
    images=_images,
)
