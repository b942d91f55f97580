"""Scores of a trained model: of labeled data, and in files of the run folder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from tagfill.arrays import Numbers
from tagfill.errors import TagfillError
from tagfill.files import unlinked, write_bytes
from tagfill.labels import Dataset, LabelTable
from tagfill.models.bundle import Bundle, description
from tagfill.train.cache import FeatureRows, content_hashes
from tagfill.train.data import Split, readable
from tagfill.train.extract import plain_extractor
from tagfill.train.inputs import FeatureInputs
from tagfill.train.processes import World, scores

_TENSOR = "logits"


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores and their images.

    Args:
        split: the images that could be read.
        logits: [N, K] of the model's classes.
        notes: what was left out.
    """

    split: Split
    logits: Numbers
    notes: tuple[str, ...] = ()


def score_images(
    bundle: Bundle,
    dataset: Dataset,
    table: LabelTable,
    *,
    images: Sequence[Path | None] = (None,),
) -> Scored:
    """Scores of the model's classes for the images of a table; unreadable ones are left out.

    Args:
        dataset: where the table comes from; it knows the image folder or the features.
        images: image folders to try; None is the one that the data set implies.

    Raises:
        TagfillError: the model needs images but the data are features, or the reverse.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = bundle.network.to(device)
    spec = network.backbone.spec
    notes: list[str]
    features: torch.Tensor | FeatureRows
    if spec.library == "features":
        split, notes = Split(table), []
        features = torch.from_numpy(_features(dataset, table, spec.channels))
    else:
        extractor = plain_extractor(network, device)
        split, notes = readable(table, dataset, images, extractor.fill)
        features = extractor.extract(split.paths or ())
    logits = scores(network.head, FeatureInputs(features), World(), device)
    return Scored(split, logits.numpy(), tuple(notes))


def _features(dataset: Dataset, table: LabelTable, channels: int) -> Numbers:
    if not dataset.features:
        raise TagfillError(
            "the model needs features, but these data have none", file=dataset.source
        )
    rows = [dataset.table.row_of[image] for image in table.images]
    matrix = np.asarray(dataset.load_features()[rows], dtype=np.float32)
    if matrix.shape[1] != channels:
        raise TagfillError(
            f"the model reads {channels} features, these have {matrix.shape[1]}",
            file=dataset.source,
        )
    return matrix


def scores_key(model: Path, split: Split) -> str:
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


def read_scores(file: Path, key: str) -> Numbers | None:
    """The scores ``write_scores`` stored under the key; None if absent or damaged."""
    if not file.is_file():  # a pipe would be waited for
        return None
    try:
        with safe_open(file, framework="numpy") as stored:
            about, logits = stored.metadata() or {}, stored.get_tensor(_TENSOR)
    except (OSError, SafetensorError):
        return None
    return logits if about == _about(key, logits) else None


def write_scores(file: Path, key: str, logits: Numbers) -> None:
    """Store scores under the key of ``scores_key``; equal scores give equal files."""
    write_bytes(unlinked(file), save({_TENSOR: np.ascontiguousarray(logits)}, _about(key, logits)))


def _about(key: str, logits: Numbers) -> dict[str, str]:
    """One entry, as safetensors writes several in any order."""
    digest = hashlib.blake2b(np.ascontiguousarray(logits).tobytes(), digest_size=16)
    return {"key-digest": f"{key}-{digest.hexdigest()}"}
