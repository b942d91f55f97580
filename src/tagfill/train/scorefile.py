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
_TENSOR = "logits"


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
            about, logits = stored.metadata() or {}, stored.get_tensor(_TENSOR)
    except (OSError, SafetensorError):
        return None
    return logits if about == _about(key, logits) else None


def write(file: Path, key: str, logits: Scores) -> None:
    """Store scores under the key of ``key_of``; equal scores give equal files."""
    write_bytes(unlinked(file), save({_TENSOR: np.ascontiguousarray(logits)}, _about(key, logits)))


def _about(key: str, logits: Scores) -> dict[str, str]:
    """One entry, as safetensors writes several in any order."""
    digest = hashlib.blake2b(np.ascontiguousarray(logits).tobytes(), digest_size=16)
    return {"key-digest": f"{key}-{digest.hexdigest()}"}
