"""Features on disk: computed once, with a key of what they were computed from.

A store holds the features of one extractor (backbone, weights, input size, kind, view). Its shards
are pairs of files, ``X.npy`` with the features of some images and ``X.txt`` with the content hashes
of those images and a checksum of both files; a shard is complete once its ``.txt`` exists. Shards
are only added, so that several runs can share a store, and an interrupted extraction loses little.
A shard whose checksum differs is deleted and computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagfill import remote
from tagfill.arrays import Matrix
from tagfill.compat import cache_root
from tagfill.errors import TagfillError
from tagfill.files import atomic_path, remove_leftovers, write_text
from tagfill.images import open_photo

Halves = npt.NDArray[np.float16]
IN_MEMORY_BYTES = 2_000_000_000
"""Largest features to hold in memory in single precision, where epochs visit them."""
READ_ONCE_BYTES = 400_000_000
"""The same of vectors that a solver or a scorer reads in order, a few times."""
ABOUT = "about.json"
_MARK = "blake2b:"
_BATCH = 128
"""Files that a thread hashes at a time; most often they have been hashed before."""
_ITEM = np.dtype(np.float16).itemsize


def content_hash(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def content_hashes(paths: Sequence[Path], workers: int = 8) -> list[str]:
    """A hash of each file's bytes."""
    batches = [paths[start : start + _BATCH] for start in range(0, len(paths), _BATCH)]
    with ThreadPoolExecutor(workers) as pool:
        hashed = pool.map(lambda batch: [_content_hash(path) for path in batch], batches)
        return [content for batch in hashed for content in batch]


def _content_hash(path: Path) -> str:
    try:
        status = path.stat()
        return _hash_of(path, status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise TagfillError(f"cannot be read ({error.strerror})", file=path) from error


@lru_cache(maxsize=1_000_000)
def _hash_of(path: Path, size: int, modified: int) -> str:
    """Cached by size and modification time, so that a changed file is read again."""
    with open_photo(path) as file:
        return content_hash(file.read())


class FeatureRows:
    """Rows gathered when they are used; behaves like a read-only array of its shards' numbers."""

    def __init__(
        self,
        shards: Sequence[Matrix],
        shard: npt.NDArray[np.intp],
        row: npt.NDArray[np.intp],
    ) -> None:
        self._shards, self._shard, self._row = shards, shard, row

    @classmethod
    def of(cls, features: Matrix, rows: npt.NDArray[np.intp]) -> FeatureRows:
        """Some rows of a matrix, not copied."""
        return cls([features], np.zeros(len(rows), np.intp), rows)

    def __len__(self) -> int:
        return len(self._row)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self), *self._shards[0].shape[1:])

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Matrix:
        return np.asarray(self[:], dtype=dtype)

    def take(self, rows: npt.NDArray[np.intp]) -> FeatureRows:
        """Some of the rows, not gathered."""
        return FeatureRows(self._shards, self._shard[rows], self._row[rows])

    def __getitem__(self, rows: Any) -> Matrix:
        shard, row = self._shard[rows], self._row[rows]
        gathered = np.empty((len(row), *self.shape[1:]), dtype=self._shards[0].dtype)
        for number in np.unique(shard):
            here = shard == number
            gathered[here] = self._shards[number][row[here]]
        return gathered


def in_memory(features: Matrix | FeatureRows, *, epochs: bool) -> bool:
    """Whether they are few enough to hold in memory in single precision.

    Args:
        epochs: whether rows are visited in random order, again and again.
    """
    most = IN_MEMORY_BYTES if epochs or len(features.shape) > 2 else READ_ONCE_BYTES
    return int(np.prod(features.shape)) * 4 <= most


def taken(features: Matrix | FeatureRows, rows: npt.NDArray[np.intp]) -> Matrix | FeatureRows:
    """Some rows; those of very many images are not copied."""
    if isinstance(features, FeatureRows):
        return features.take(rows)
    return features[rows] if in_memory(features, epochs=False) else FeatureRows.of(features, rows)


@dataclass(frozen=True)
class StoreInfo:
    """A store as ``tagfill cache`` lists it."""

    path: Path
    about: Mapping[str, Any]
    images: int
    bytes: int
    used: float

    @property
    def hashes(self) -> set[str]:
        return {name for file in self.path.glob("[!.]*.txt") for name in _listed(file)[1]}


class FeatureStore:
    """The features of one extractor.

    Args:
        about: what determines the features: backbone, weights, input size, kind and view.
    """

    def __init__(self, about: Mapping[str, Any], root: Path | None = None) -> None:
        text = json.dumps(dict(about), sort_keys=True)
        name = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        self.folder = (root or cache_root()) / "features" / name
        self.damaged: list[Path] = []
        self._about = text
        with suppress(TagfillError):  # a read-only cache: what it has can be used
            write_text(self.folder / ABOUT, text)
        remove_leftovers(self.folder)

    def add(self, hashes: Sequence[str], features: Halves) -> None:
        name = uuid.uuid4().hex
        try:
            with atomic_path(self.folder / f"{name}.npy") as draft:
                np.save(draft, features.astype(np.float16))
                checksum = _checksum(_digest(draft), hashes)
            write_text(self.folder / f"{name}.txt", "\n".join([f"{_MARK}{checksum}", *hashes]))
        except TagfillError as error:
            raise TagfillError(
                f"features {error.message}",
                file=self.folder,
                remedy="free disk space (`tagfill cache --prune`) or set TAGFILL_CACHE",
            ) from error

    def missing(self, hashes: Sequence[str]) -> list[str]:
        """Which of the images have no features yet, or damaged ones, each once, in order."""
        known = {name for names in self._sound(set(hashes)).values() for name in names}
        return [name for name in dict.fromkeys(hashes) if name not in known]

    def rows(self, hashes: Sequence[str]) -> FeatureRows:
        """The features of the images, in order.

        Raises:
            KeyError: an image has none, or they were pruned or damaged.
        """
        shards: list[Halves] = []
        location: dict[str, tuple[int, int]] = {}
        for shard, names in self._sound(set(hashes)).items():
            for row, name in enumerate(names):
                location.setdefault(name, (len(shards), row))
            shards.append(self._opened(shard))
        locations = np.array([location[name] for name in hashes], dtype=np.intp)
        self._mark_used()
        return FeatureRows(shards, locations[:, 0], locations[:, 1])

    def _mark_used(self) -> None:
        try:
            os.utime(self.folder / ABOUT)
        except FileNotFoundError:  # pruned, and filled again since
            write_text(self.folder / ABOUT, self._about)
        except OSError:
            pass  # a read-only cache

    def _opened(self, shard: str) -> Halves:
        """A memory-mapped shard, usable after the file is deleted, without an open file."""
        import torch

        file = self.folder / f"{shard}.npy"
        try:
            shape = np.load(file, mmap_mode="r").shape
            size = file.stat().st_size
            whole = torch.from_file(str(file), shared=False, size=size, dtype=torch.uint8).numpy()
        except (FileNotFoundError, RuntimeError):
            raise KeyError(shard) from None
        items = int(np.prod(shape)) * _ITEM
        return whole[size - items :].view(np.float16).reshape(shape)

    def _sound(self, wanted: set[str]) -> dict[str, list[str]]:
        """The shards with wanted images, and their images; damaged shards are deleted."""
        sound = {}
        for file in sorted(self.folder.glob("[!.]*.txt")):
            checksum, names = _listed(file)
            if wanted.isdisjoint(names):
                continue
            features = file.with_suffix(".npy")
            if _is_whole(features, names, checksum):
                sound[file.stem] = names
            else:
                self.damaged.append(features)
                for damaged in (file, features):
                    with suppress(OSError):
                        damaged.unlink()
        return sound


def known_hashes(root: Path | None = None) -> set[str]:
    """Content hashes of all images with cached features, which can therefore be decoded."""
    files = ((root or cache_root()) / "features").glob("*/[!.]*.txt")
    return {name for file in files for name in _listed(file)[1]}


def _listed(file: Path) -> tuple[str, list[str]]:
    """The checksum and the images of a shard; nothing if it is gone."""
    try:
        lines = file.read_text(encoding="ascii", errors="replace").splitlines()
    except FileNotFoundError:
        return "", []
    if not lines or not lines[0].startswith(_MARK):
        return "", lines
    return lines[0].removeprefix(_MARK), lines[1:]


def _is_whole(features: Path, names: Sequence[str], checksum: str) -> bool:
    try:
        status = features.stat()
        digest = _digest_of(features, status.st_size, status.st_mtime_ns)
    except OSError:
        return False
    return _checksum(digest, names) == checksum


def _checksum(digest: str, names: Sequence[str]) -> str:
    return hashlib.blake2b("\n".join([digest, *names]).encode(), digest_size=16).hexdigest()


@lru_cache(maxsize=100_000)
def _digest_of(file: Path, size: int, modified: int) -> str:
    """Cached by size and modification time, so that a changed file is read again."""
    return _digest(file)


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def stores(root: Path | None = None) -> Iterator[StoreInfo]:
    """All stores, the longest unused first; one that another process deletes is left out."""
    folders = [file.parent for file in ((root or cache_root()) / "features").glob(f"*/{ABOUT}")]
    listed = []
    for folder in folders:
        with suppress(FileNotFoundError):
            listed.append(_store_info(folder))
    yield from sorted(listed, key=lambda store: store.used)


def _store_info(folder: Path) -> StoreInfo:
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except ValueError:
        about = None
    return StoreInfo(
        path=folder,
        about=about if isinstance(about, dict) else {},
        images=sum(len(_listed(file)[1]) for file in folder.glob("[!.]*.txt")),
        bytes=sum(file.stat().st_size for file in folder.iterdir()),
        used=(folder / ABOUT).stat().st_mtime,
    )


def prune(older_than_days: float, root: Path | None = None) -> list[StoreInfo]:
    """Delete stores, graphs, records of backbones and remote files not used for that long.

    A time of use in the future (the clock was changed) counts as now. Folders stay: another process
    may be writing to them.

    Returns:
        The stores.
    """
    now, place = time.time(), root or cache_root()
    limit = now - older_than_days * 86_400
    old = [store for store in stores(root) if min(store.used, now) <= limit]
    for store in old:
        _delete(store.path.iterdir(), now, now)
    for pattern in ("graphs/*.onnx", "backbones/*.json"):
        _delete(place.glob(pattern), limit, now)
    remote.prune(older_than_days)
    return old


def _delete(files: Iterable[Path], limit: float, now: float) -> None:
    """Delete files not used since a time, and drafts that nobody has been writing for a day."""
    for file in files:
        with suppress(FileNotFoundError):
            since = min(limit, now - 86_400) if file.name.startswith(".") else limit
            if min(file.stat().st_mtime, now) <= since:
                file.unlink()
