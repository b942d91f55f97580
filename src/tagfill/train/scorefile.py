"""Files of a run's scores, with a hash of the inputs and a checksum."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from tagfill.files import unlinked, write_bytes
from tagfill.models.bundle import description
from tagfill.train.cache import content_hashes
from tagfill.train.data import Split

Scores = npt.NDArray[np.float32]
"""[N, K] logits."""
_KEY, _DIGEST, _TENSOR = "key", "digest", "logits"


def key_of(model: Path, split: Split) -> str:
    """A hash of the model's weights and of the images, in their order."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(str(description(model)["sha256"]).encode())
    for image in split.table.images:
        digest.update(image.encode("utf-8", "surrogateescape") + b"\0")
    if split.features is not None:
        digest.update(np.ascontiguousarray(split.features).tobytes())
    for content in content_hashes(split.paths or ()):
        digest.update(content.encode())
    return digest.hexdigest()


def read(file: Path, key: str) -> Scores | None:
    """The scores ``write`` stored under the key; None if absent or damaged."""
    if not file.is_file():  # a pipe would be waited for
        return None
    try:
        with safe_open(file, framework="numpy") as stored:
            metadata = stored.metadata() or {}
            if metadata.get(_KEY) != key:
                return None
            logits: Scores = stored.get_tensor(_TENSOR)
    except (OSError, SafetensorError):
        return None
    return logits if metadata.get(_DIGEST) == _digest(logits) else None


def write(file: Path, key: str, logits: Scores) -> None:
    """Store scores under the key of ``key_of``."""
    metadata = {_KEY: key, _DIGEST: _digest(logits)}
    write_bytes(unlinked(file), save({_TENSOR: np.ascontiguousarray(logits)}, metadata))


def _digest(logits: Scores) -> str:
    return hashlib.blake2b(np.ascontiguousarray(logits).tobytes(), digest_size=16).hexdigest()
