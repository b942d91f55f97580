"""A fixed BatchNorm as part of the convolution before it, which makes training faster.

A BatchNorm that keeps its statistics, scale and shift multiplies every channel by a constant and
adds one. Scaled weights of the convolution do the same without passing over its output once more,
forward and backward. What learns is the convolution's own weight, by the same gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import MethodType

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

Pair = tuple[nn.Conv2d, _BatchNorm]
"""A convolution, and the BatchNorm that alone reads its output."""
_TOLERANCE = 1e-3


@torch.no_grad()
def find_pairs(body: nn.Module, images: Tensor) -> list[Pair]:
    """The convolutions of a body that a fixed BatchNorm follows, as a few images show.

    None where another layer reads the output of such a convolution, too; where weights are
    shared out among processes; or where activations are computed again in the backward pass, which
    would miss what is folded.
    """
    if any(map(_is_sharded, body.parameters())) or any(map(_recomputes, body.modules())):
        return []
    outputs: dict[int, tuple[Tensor, nn.Conv2d]] = {}
    pairs: list[Pair] = []

    def remember(conv: nn.Module, _: object, output: Tensor) -> None:
        assert isinstance(conv, nn.Conv2d)
        outputs[id(output)] = output, conv  # the output is kept, so that its id stays its own

    def match(norm: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        if isinstance(norm, _BatchNorm) and _is_fixed(norm) and id(inputs[0]) in outputs:
            pairs.append((outputs[id(inputs[0])][1], norm))

    hooks = [
        module.register_forward_hook(remember)
        if isinstance(module, nn.Conv2d)
        else module.register_forward_pre_hook(match)
        for module in body.modules()
    ]
    with torch.autocast(images.device.type, enabled=False):  # half precision would hide differences
        try:
            plain = body(images)
        finally:
            for hook in hooks:
                hook.remove()
        with folded(pairs):
            again = body(images)
    same = torch.allclose(again, plain, _TOLERANCE, _TOLERANCE * float(plain.std()))
    parts = {id(part) for pair in pairs for part in pair}
    return pairs if same and len(parts) == 2 * len(pairs) else []


@contextmanager
def folded(pairs: Sequence[Pair]) -> Iterator[None]:
    """Within it, every convolution does the work of its BatchNorm, which only activates."""
    weights = [dict(conv._parameters) for conv, _ in pairs]
    try:
        for conv, norm in pairs:
            conv._parameters |= _scaled(conv, norm)  # type: ignore[arg-type]
            norm.forward = MethodType(_activate, norm)  # type: ignore[method-assign]
        yield
    finally:
        for (conv, norm), own in zip(pairs, weights, strict=True):
            conv._parameters = own
            norm.__dict__.pop("forward", None)


def _scaled(conv: nn.Conv2d, norm: _BatchNorm) -> dict[str, Tensor]:
    """Weight and bias of a convolution with its BatchNorm in them."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    scale = norm.weight * (norm.running_var + norm.eps).rsqrt()
    shift = norm.bias - norm.running_mean * scale
    bias = shift if conv.bias is None else shift + conv.bias * scale
    return {"weight": conv.weight * scale[:, None, None, None], "bias": bias}


def _activate(norm: nn.Module, images: Tensor) -> Tensor:
    """The rest of a BatchNorm: timm's may end with a dropout and an activation."""
    for name in ("drop", "act"):
        images = getattr(norm, name, nn.Identity())(images)
    return images


def _is_fixed(norm: _BatchNorm) -> bool:
    """Whether a BatchNorm has statistics, scale and shift, and none of them changes."""
    parts = (norm.running_mean, norm.running_var, norm.weight, norm.bias)
    complete = all(part is not None for part in parts)
    return complete and not (norm.training or norm.weight.requires_grad or norm.bias.requires_grad)


def _is_sharded(parameter: nn.Parameter) -> bool:
    return type(parameter) is not nn.Parameter


def _recomputes(module: nn.Module) -> bool:
    switches = ("grad_checkpointing", "gradient_checkpointing")  # of timm and of transformers
    return any(getattr(module, name, False) is True for name in switches)
