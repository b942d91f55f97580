"""Architectures of timm and transformers behind one interface: images in, a feature map out."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Union

import torch
from torch import Tensor, nn

from tagfill.compat import mend_torchvision, optional
from tagfill.errors import TagfillError
from tagfill.models.spec import BackboneSpec
from tagfill.models.weights import StateDict

Stages = list[list[str]]
"""Parameter names of each stage, the stem first."""
_USUAL_STRIDES = (32, 16, 14, 8, 64, 4)
_seen: dict[str, MapShape] = {}


Body = Union["TimmBody", "TransformersBody", "FeatureBody"]


def make_body(spec: BackboneSpec) -> Body:
    """The architecture with random weights; needs no network."""
    if spec.library == "timm":
        return TimmBody(spec.architecture, spec.options)
    if spec.library == "features":
        return FeatureBody()
    return TransformersBody(spec.architecture, spec.options)


def tokens_to_map(tokens: Tensor, image: Tensor, prefix: int | None = None) -> Tensor:
    """Lay a token sequence out on the grid it came from.

    Args:
        tokens: [N, T, D] with class and register tokens, if any, in front.
        image: [N, 3, H, W] the input of the tokens.
        prefix: how many tokens to drop; None finds the largest grid of the image's proportions.

    Returns:
        [N, D, H', W']
    """
    count, aspect = tokens.shape[1], image.shape[2] / image.shape[3]
    for dropped in (prefix,) if prefix is not None else range(min(count, 17)):
        cells = count - dropped
        rows = min(
            (divisor for divisor in range(1, cells + 1) if cells % divisor == 0),
            key=lambda rows: abs(rows * rows / cells - aspect),
        )
        if prefix is not None or 0.75 < rows * rows / cells / aspect < 1.34:
            grid = tokens[:, dropped:].unflatten(1, (rows, cells // rows))
            return torch.movedim(grid, 3, 1)
    raise TagfillError(f"{count} tokens do not form a grid")


class TimmBody(nn.Module):
    """A timm model up to its last feature map."""

    __call__: Callable[..., Tensor]

    def __init__(self, architecture: str, options: Mapping[str, Any]) -> None:
        super().__init__()
        self.net: Any = load_timm().create_model(
            architecture, pretrained=False, num_classes=0, **options
        )
        if getattr(self.net, "attn_pool", None) is not None:
            self.net.reset_classifier(0, "")  # maps need no attention pooling

    def forward(self, images: Tensor) -> Tensor:
        """[N, 3, H, W] to [N, D, H', W']."""
        features: Tensor = self.net.forward_features(images)
        if features.ndim == 3:
            return tokens_to_map(features, images, getattr(self.net, "num_prefix_tokens", None))
        if features.ndim != 4:
            raise TagfillError(f"{type(self.net).__name__} has no feature map")
        if getattr(self.net, "output_fmt", "NCHW") == "NHWC":
            return features.permute(0, 3, 1, 2)
        return features

    def adapt(self, state: StateDict) -> StateDict:
        """Tensors of a checkpoint of this architecture, however old, under the body's names."""
        rename: Callable[..., StateDict] | None = getattr(
            sys.modules[type(self.net).__module__], "checkpoint_filter_fn", None
        )
        adapted = state if rename is None else rename(dict(state), self.net)
        return {f"net.{name}": tensor for name, tensor in adapted.items()}

    def stages(self) -> Stages:
        """Parameter names from the stem upwards."""
        groups: dict[int, list[str]] = {}
        if hasattr(self.net, "group_matcher"):
            matcher = self.net.group_matcher(coarse=True)
            groups = load_timm().models.group_parameters(self.net, matcher)
        if len(groups) < 2:
            return list_stages(self)
        return [[f"net.{name}" for name in groups[key]] for key in sorted(groups)]


class TransformersBody(nn.Module):
    """A vision model of transformers up to its last hidden state.

    CvT keeps its final LayerNorm outside the body, in the classifier; it is applied to the map here
    (``norm``), as the published Query2Label code does.
    """

    __call__: Callable[..., Tensor]

    def __init__(self, model_type: str, config: Mapping[str, Any]) -> None:
        super().__init__()
        library = load_transformers()
        settings = {key: value for key, value in config.items() if key != "model_type"}
        self.config: Any = library.AutoConfig.for_model(model_type, **settings)
        self.net: Any = library.AutoModel.from_config(self.config)
        self.norm = nn.LayerNorm(self.config.embed_dim[-1]) if model_type == "cvt" else None
        accepted = inspect.signature(self.net.forward).parameters
        self._arguments: dict[str, Any] = (
            {"interpolate_pos_encoding": True} if "interpolate_pos_encoding" in accepted else {}
        )

    def forward(self, images: Tensor) -> Tensor:
        hidden: Tensor = self.net(images, **self._arguments).last_hidden_state
        if self.norm is not None:
            return torch.movedim(self.norm(torch.movedim(hidden, 1, -1)), -1, 1)
        if hidden.ndim == 4:
            return hidden
        if hidden.ndim == 3:
            return tokens_to_map(hidden, images, self._prefix(hidden, images))
        raise TagfillError(f"{type(self.net).__name__} has no feature map")

    def _prefix(self, tokens: Tensor, images: Tensor) -> int | None:
        patch = getattr(self.config, "patch_size", None)
        if not isinstance(patch, int):
            return None
        dropped = tokens.shape[1] - (images.shape[2] // patch) * (images.shape[3] // patch)
        return dropped if 0 <= dropped <= 16 else None

    def adapt(self, state: StateDict) -> StateDict:
        """Tensors of a transformers checkpoint under the body's names."""
        prefix = f"{self.net.base_model_prefix}."
        adapted = {f"net.{name.removeprefix(prefix)}": tensor for name, tensor in state.items()}
        for part in ("weight", "bias"):
            if self.norm is not None and f"layernorm.{part}" in state:
                adapted[f"norm.{part}"] = state[f"layernorm.{part}"]
        return adapted

    def stages(self) -> Stages:
        """Parameter names from the embedding upwards."""
        return list_stages(self)


class FeatureBody(nn.Module):
    """Replaces the backbone if features are given: [N, D] or maps pass unchanged."""

    __call__: Callable[..., Tensor]

    def forward(self, features: Tensor) -> Tensor:
        """[N, D] becomes a map of one cell."""
        return features if features.ndim == 4 else features[:, :, None, None]

    def adapt(self, state: StateDict) -> StateDict:
        """No weights to load."""
        return state

    def stages(self) -> Stages:
        """No parameters to freeze."""
        return []


def list_stages(module: nn.Module) -> Stages:
    """Stages by the first list of blocks found: what precedes it, each block, the rest."""
    names = [name for name, _ in module.named_parameters()]
    blocks = next(
        (
            name
            for name, child in module.named_modules()
            if isinstance(child, nn.ModuleList | nn.Sequential) and len(child) > 1
        ),
        None,
    )
    if blocks is None:
        return [names]
    depth = blocks.count(".") + 1
    keys = [name.split(".")[depth] if name.startswith(f"{blocks}.") else None for name in names]
    first = next(number for number, key in enumerate(keys) if key is not None)
    stages: Stages = [names[:first]]
    for name, key, before in zip(names[first:], keys[first:], [None, *keys[first:]], strict=False):
        if key is not None and key != before:
            stages.append([])
        stages[-1].append(name)
    return [stage for stage in stages if stage]


@dataclass(frozen=True)
class MapShape:
    """The feature map of an architecture.

    Args:
        stride: input pixels per cell of it.
        unused: names of parameters the map does not depend on.
    """

    channels: int
    stride: int
    parameters: int
    unused: tuple[str, ...]


def map_shape(spec: BackboneSpec) -> MapShape:
    """Pass an empty image through the architecture, once in a process.

    On the ``meta`` device, where tensors have shapes but no values; architectures that need values
    even then are built for real.
    """
    key = json.dumps([spec.library, spec.architecture, spec.size, dict(spec.options)], default=repr)
    if key not in _seen:
        try:
            _seen[key] = _pass(spec, "meta")
        except Exception:  # anything may be missing on the meta device
            try:
                _seen[key] = _pass(spec, "cpu")
            except (AssertionError, RuntimeError, ValueError, IndexError) as error:
                raise TagfillError(
                    f"{spec.name} cannot take images of {spec.size} x {spec.size} pixels ({error})",
                    remedy="choose another size, such as a multiple of 32",
                ) from error
    return _seen[key]


def _pass(spec: BackboneSpec, device: str) -> MapShape:
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
    return MapShape(
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


def load_timm() -> ModuleType:
    """timm, whose import needs a torchvision that can be imported."""
    mend_torchvision()
    return import_module("timm")


def load_transformers() -> ModuleType:
    """transformers, an optional extra."""
    mend_torchvision()
    module = optional("transformers", "hf")
    with torch.device("cpu"):  # its modules cannot be imported on the meta device
        optional("transformers.modeling_utils", "hf")
    module.utils.logging.set_verbosity_error()
    module.utils.logging.disable_progress_bar()
    return module
