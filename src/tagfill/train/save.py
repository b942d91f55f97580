"""Files of a run: checkpoints, and at the end model, scores and metrics.

A checkpoint is one file of tensors and JSON, replaced atomically. It holds everything that training
needs to continue as if it had never stopped: network, optimizer, schedule, method state, EMA copy,
early stopping, position. The state of random generators is not saved, as every draw depends only on
the seed and the position. A checksum detects a damaged file; the previous checkpoint is kept too.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from tagfill.errors import TagfillError
from tagfill.files import atomic_path, json_value, unlinked, write_json
from tagfill.models.bundle import Bundle
from tagfill.models.network import Network
from tagfill.settings import misfit
from tagfill.train.data import TrainingData
from tagfill.train.evaluate import Evaluation
from tagfill.train.folder import CheckpointMetadata, RunFolder
from tagfill.train.loop import Keep
from tagfill.train.score import scores_key, write_scores
from tagfill.train.unseen import OUT_OF_FOLD

Tensors = dict[str, dict[str, Tensor]]
"""Groups of named tensors."""
Checkpoint = tuple[Tensors, dict[str, Any]]
"""Tensors and metadata."""

_METADATA, _DIGEST = "metadata", "digest"
_SEPARATOR = "/"
_MISFIT = "the checkpoint is not one of this run"


def save_run(
    folder: RunFolder, network: Network, data: TrainingData, evaluation: Evaluation
) -> None:
    """Save a finished run; metrics are written last, as they mark it finished."""
    metrics, decisions = evaluation.metrics, evaluation.decisions
    named = ("method", "regime", "seed", "data_hash")
    Bundle(
        network.eval(),
        data.classes,
        thresholds=None if decisions is None else tuple(decisions.thresholds.values.tolist()),
        calibration=None if decisions is None else decisions.calibration,
        details={
            **{name: metrics[name] for name in named},
            **evaluation.precisions,
            **({"hierarchy": {**data.train.table.hierarchy}} if data.train.table.hierarchy else {}),
        },
    ).save(folder.model)
    for name, logits in evaluation.logits.items():
        key = scores_key(folder.model, data.splits[name])
        write_scores(folder.scores(name), key, logits)
    if evaluation.out_of_fold is not None:
        key = scores_key(folder.model, data.train)
        write_scores(folder.scores(OUT_OF_FOLD), key, evaluation.out_of_fold)
    write_json(unlinked(folder.metrics), metrics, default=json_value)


def checkpoints_of(folder: RunFolder, data: TrainingData) -> Keep:
    """The checkpoint store of a run on these data."""

    def keep(tensors: Tensors, metadata: dict[str, Any]) -> None:
        _keep_previous(folder.checkpoint, unlinked(folder.previous_checkpoint))
        save_checkpoint(
            unlinked(folder.checkpoint), tensors, {**metadata, "data_hash": data.content_hash}
        )

    return keep


def saved_checkpoint(
    folder: RunFolder, stages: int, *, previous: bool = False
) -> Checkpoint | None:
    """The last checkpoint of a run, or the one before it; None if there is none yet.

    Args:
        previous: read the one before the last.

    Raises:
        TagfillError: the file is damaged; the message offers the other one.
    """
    last, before = folder.checkpoint, folder.previous_checkpoint
    path = before if previous else last
    if previous and not path.is_file():
        raise TagfillError("there is no earlier checkpoint", file=path)
    if not path.is_file():
        return None
    try:
        tensors, metadata = load_checkpoint(path)
        if misfit(CheckpointMetadata, metadata) or not 1 <= metadata["stage"] <= stages:
            raise TagfillError(_MISFIT, file=path)
        return tensors, metadata
    except TagfillError as error:
        if previous or not before.is_file():
            raise
        raise TagfillError(
            error.message,
            file=path,
            remedy=f"continue from the one before it: `tagfill train --resume {folder.path}"
            " --previous`",
        ) from error


@contextmanager
def fitting(folder: RunFolder) -> Iterator[None]:
    """While a checkpoint is put into a network: what does not fit is a message."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise TagfillError(
            f"{_MISFIT} ({error})",
            file=folder.checkpoint,
            remedy="delete the folder of checkpoints, then --resume starts from the beginning",
        ) from error


def save_checkpoint(path: Path, tensors: Mapping[str, Mapping[str, Tensor]], metadata: Any) -> None:
    """Write groups of tensors and JSON-able metadata, replacing the file atomically."""
    flat = {
        f"{group}{_SEPARATOR}{name}": tensor.detach().cpu().contiguous().clone()
        for group, members in tensors.items()
        for name, tensor in members.items()
    }
    text = json.dumps(metadata)
    try:
        with atomic_path(path, own_folder=True) as draft:
            save_file(flat, draft, metadata={_METADATA: text, _DIGEST: _digest(flat, text)})
    except (TagfillError, SafetensorError) as error:
        raise TagfillError(
            f"could not write the checkpoint ({error})",
            file=path,
            remedy="the last one is intact: free disk space, then `tagfill train --resume`",
        ) from error


def load_checkpoint(path: Path) -> Checkpoint:
    """Read what ``save_checkpoint`` wrote: groups of tensors, and the metadata."""
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            flat = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - no mapping
        text = header[_METADATA]
        intact = header[_DIGEST] == _digest(flat, text)
        metadata = json.loads(text)
    except (OSError, KeyError, ValueError, RuntimeError, SafetensorError) as error:
        raise TagfillError(f"not a readable checkpoint ({error})", file=path) from error
    if not intact:
        raise TagfillError("the checkpoint is damaged: its checksum differs", file=path)
    groups: Tensors = {}
    for key, tensor in flat.items():
        group, _, name = key.partition(_SEPARATOR)
        groups.setdefault(group, {})[name] = tensor
    return groups, metadata


def _digest(flat: Mapping[str, Tensor], metadata: str) -> str:
    """Digest of names, types, shapes and values of the tensors, and of the JSON."""
    digest = hashlib.blake2b(metadata.encode(), digest_size=16)
    for key in sorted(flat):
        tensor = flat[key]
        digest.update(f"\0{key}\0{tensor.dtype}\0{tuple(tensor.shape)}\0".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _keep_previous(last: Path, previous: Path) -> None:
    """Keep the last checkpoint under a second name, so that one is always complete."""
    if not last.is_file():
        return
    with suppress(TagfillError), atomic_path(previous, sync=False) as draft:
        try:
            os.link(last, draft)
        except OSError:  # a file system without links
            shutil.copyfile(last, draft)
