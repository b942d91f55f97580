"""Checkpoints: one file each, written whole or not at all, tensors and JSON only.

A file holds everything that training needs to go on as if it had never stopped: network, optimizer,
schedule, method state, EMA copy, early stopping, position. Random numbers need no saving, because
every draw depends only on the seed and the position.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from tagfill.errors import TagfillError
from tagfill.files import atomic_path

_FACTS = "metadata"
_SEPARATOR = "/"


def save_checkpoint(
    path: Path, tensors: Mapping[str, Mapping[str, Tensor]], metadata: Mapping[str, Any]
) -> None:
    """Write groups of tensors and JSON-able metadata; the old file stays until the new is whole."""
    flat = {
        f"{group}{_SEPARATOR}{name}": tensor.detach().cpu().contiguous().clone()
        for group, members in tensors.items()
        for name, tensor in members.items()
    }
    try:
        with atomic_path(path) as draft:
            save_file(flat, draft, metadata={_FACTS: json.dumps(metadata)})
    except (TagfillError, SafetensorError) as error:
        raise TagfillError(
            f"could not write the checkpoint ({error})",
            file=path,
            remedy="the last one is intact: free disk space, then `tagfill train --resume`",
        ) from error


def load_checkpoint(path: Path) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]]:
    """Read what ``save_checkpoint`` wrote: groups of tensors, and the metadata."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = json.loads((file.metadata() or {})[_FACTS])
            groups: dict[str, dict[str, Tensor]] = {}
            for key in file.keys():  # noqa: SIM118 - not a mapping
                group, _, name = key.partition(_SEPARATOR)
                groups.setdefault(group, {})[name] = file.get_tensor(key)
    except (OSError, KeyError, ValueError, SafetensorError) as error:
        raise TagfillError(f"not a readable checkpoint ({error})", file=path) from error
    return groups, metadata


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimizer's moments, by parameter number and name."""
    state = optimizer.state_dict()["state"]
    return {
        f"{number}.{name}": torch.as_tensor(value)
        for number, members in state.items()
        for name, value in members.items()
        if value is not None
    }


def optimizer_metadata(optimizer: torch.optim.Optimizer) -> list[dict[str, Any]]:
    """The optimizer's settings per parameter group."""
    return [
        {name: value for name, value in group.items() if name != "params"}
        for group in optimizer.state_dict()["param_groups"]
    ]


def restore_optimizer(
    optimizer: torch.optim.Optimizer,
    tensors: Mapping[str, Tensor],
    metadata: list[dict[str, Any]],
    place: Callable[[Tensor, Tensor], Tensor],
) -> None:
    """Put moments and settings back; ``place`` puts a moment where its parameter is."""
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, _, name = key.partition(".")
        parameter = parameters[int(number)]
        is_moment = name != "step" and tensor.shape == parameter.shape
        placed = place(tensor, parameter.detach()) if is_moment else tensor
        state.setdefault(int(number), {})[name] = placed
    groups = [
        {**saved, "params": group["params"]}
        for saved, group in zip(metadata, optimizer.state_dict()["param_groups"], strict=True)
    ]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
