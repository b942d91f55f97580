"""Tensors from files, read without executing anything, and fitted to a network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from tagfill.errors import TagfillError

StateDict = dict[str, Tensor]

_WRAPPERS = ("state_dict", "model", "state_dict_ema", "model_ema")
_HARMLESS: list[Any] = [
    (np.float64(0).__reduce__()[0], "numpy.core.multiarray.scalar"),
    np.float64(0).__reduce__()[0],
    np.dtype,
    type(np.dtype(np.float64)),
    type(np.dtype(np.float32)),
    type(np.dtype(np.int64)),
]
"""Numbers of numpy, which training scripts leave in their checkpoints beside the tensors."""


def read_state(file: str | Path) -> StateDict:
    """The tensors of a ``.safetensors`` file or of a torch checkpoint, by name.

    Wrapping dictionaries ("state_dict", "model") and the prefix "module." are taken off.

    Raises:
        TagfillError: no such file, not a checkpoint, or one that would execute code.
    """
    path = Path(file)
    if not path.is_file():
        raise TagfillError("no such weight file", file=path)
    try:
        state = load_file(path) if path.suffix == ".safetensors" else _read_torch(path)
    except (SafetensorError, OSError, RuntimeError) as error:  # the last: too large to be mapped
        raise TagfillError(f"not a safetensors file ({error})", file=path) from error
    if all(name.startswith("module.") for name in state):
        state = {name.removeprefix("module."): tensor for name, tensor in state.items()}
    return state


def _read_torch(path: Path) -> StateDict:
    try:
        with torch.serialization.safe_globals(_HARMLESS):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # unpickling a foreign file can fail in any way
        raise TagfillError(
            "cannot be read as tensors only: not a torch checkpoint, or one that holds code",
            file=path,
            remedy="convert it to .safetensors on a machine where you trust it",
        ) from error
    for key in _WRAPPERS:
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
            break
    if not isinstance(content, Mapping):
        raise TagfillError("holds no dictionary of tensors", file=path)
    state = {str(key): value for key, value in content.items() if isinstance(value, Tensor)}
    if not state:
        raise TagfillError("holds no tensors", file=path)
    return state


def below(state: Mapping[str, Tensor], prefix: str) -> StateDict:
    """The tensors below a prefix, by their names without it."""
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in state.items()
        if name.startswith(prefix)
    }


def fit_state(module: nn.Module, state: Mapping[str, Tensor], *, file: str | Path | None) -> None:
    """Load tensors into a module; each of its tensors must be there, in the right shape.

    Tensors that the module does not have (a removed classifier) are left out. Counters of
    BatchNorm, which frozen ones do not store, start at zero.
    """
    fitted: StateDict = {}
    for name, own in module.state_dict().items():
        tensor = state.get(name)
        if tensor is None and name.endswith("num_batches_tracked"):
            tensor = torch.zeros_like(own)
        if tensor is None:
            raise TagfillError(f"there is no tensor {name!r} of shape {_shape(own)}", file=file)
        if tensor.shape != own.shape:
            raise TagfillError(
                f"tensor {name!r} has shape {_shape(tensor)} where {_shape(own)} is needed",
                file=file,
            )
        fitted[name] = tensor
    module.load_state_dict(fitted)


def _shape(tensor: Tensor) -> str:
    return "x".join(map(str, tensor.shape)) or "scalar"
