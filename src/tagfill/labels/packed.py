"""Images inside label sources, such as tar shards or parquet files, unpacked into the cache."""

from __future__ import annotations

import hashlib
import posixpath
from pathlib import Path

from tagfill.compat import cache_root
from tagfill.files import atomic_path, write_json
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats import formats
from tagfill.remote import UNPACKED, WHOLE, is_inside


def unpacked(dataset: Dataset) -> Path | None:
    """The folder with the unpacked images of a source; ``None`` if it contains none.

    An interrupted unpacking continues where it stopped. An image whose name leads out of the folder
    is left out: it counts as missing.
    """
    known = formats().get(dataset.format)
    if known is None or known.images is None:
        return None
    folder = cache_root() / UNPACKED / _state(dataset.source)
    if (folder / WHOLE).is_file():
        return folder
    count = 0
    for name, content in known.images(dataset.source):
        if is_inside(name) and content:
            count += 1
            file = folder / posixpath.normpath(name)
            if not file.is_file():
                with atomic_path(file, sync=False) as draft:
                    draft.write_bytes(content)
    if not count:
        return None
    write_json(folder / WHOLE, {"source": str(dataset.source), "images": count})
    return folder


def _state(source: Path) -> str:
    """What changes when the source does."""
    digest = hashlib.blake2b(digest_size=10)
    for file in sorted(source.iterdir()) if source.is_dir() else [source]:
        state = file.stat()
        digest.update(f"{file.resolve()} {state.st_size} {state.st_mtime_ns}\n".encode())
    return digest.hexdigest()
