"""Inspect an architecture without allocating its weights."""

from __future__ import annotations

import json
from dataclasses import dataclass

import torch

from tagfill.errors import TagfillError
from tagfill.models.bodies import make_body
from tagfill.models.spec import BackboneSpec

_USUAL_STRIDES = (32, 16, 14, 8, 64, 4)
_seen: dict[str, Look] = {}


@dataclass(frozen=True)
class Look:
    """Result of an inspection.

    Args:
        channels: depth of the feature map.
        stride: input pixels per cell of it.
        unused: names of parameters the map does not depend on.
    """

    channels: int
    stride: int
    parameters: int
    unused: tuple[str, ...]


def look(spec: BackboneSpec) -> Look:
    """Pass an empty image through the architecture, once in a process.

    On the ``meta`` device, where tensors have shapes but no values; architectures that need values
    even then are built for real.

    Raises:
        TagfillError: the architecture cannot take images of this size.
    """
    key = json.dumps([spec.library, spec.architecture, spec.size, dict(spec.options)], default=repr)
    if key not in _seen:
        _seen[key] = _first_look(spec)
    return _seen[key]


def _first_look(spec: BackboneSpec) -> Look:
    try:
        return _pass(spec, "meta")
    except Exception:  # anything may be missing on the meta device
        try:
            return _pass(spec, "cpu")
        except (AssertionError, RuntimeError, ValueError, IndexError) as error:
            raise TagfillError(
                f"{spec.name} cannot take images of {spec.size} x {spec.size} pixels ({error})",
                remedy="choose another size, such as a multiple of 32",
            ) from error


def _pass(spec: BackboneSpec, device: str) -> Look:
    with (
        torch.random.fork_rng(devices=[]),
        torch.inference_mode(False),
        torch.enable_grad(),
        torch.device(device),
    ):
        body = make_body(spec).eval()
        maps = body(torch.zeros(1, 3, spec.size, spec.size))
        maps.sum().backward()
    parameters = dict(body.named_parameters())
    return Look(
        channels=maps.shape[1],
        stride=_stride(spec.size, maps.shape[2]),
        parameters=sum(tensor.numel() for tensor in parameters.values()),
        unused=tuple(name for name, tensor in parameters.items() if tensor.grad is None),
    )


def _stride(size: int, cells: int) -> int:
    """Pixels per cell: a common stride that gives this many cells, exactly or rounded."""
    if size % cells == 0 and size // cells in _USUAL_STRIDES:
        return size // cells
    fitting = (stride for stride in _USUAL_STRIDES if cells in (size // stride, -(-size // stride)))
    return next(fitting, round(size / cells))
