"""What is known of a backbone: enough to rebuild it, feed it and cite its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, cast, get_args

from tagfill.errors import TagfillError

Library = Literal["timm", "transformers", "features"]
Triple = tuple[float, float, float]

IMAGENET_MEAN: Triple = (0.485, 0.456, 0.406)
IMAGENET_STD: Triple = (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class BackboneSpec:
    """A backbone without its weights.

    Args:
        name: as the user wrote it: an offline name, a preset, a timm name or ``hf:NAME``.
        library: where the architecture comes from; "features" for a network that reads given
            features instead of images.
        architecture: timm's name without weight tag, or transformers' model type.
        options: what the architecture is built with: timm arguments or the transformers config.
        size: side of the square input in pixels.
        channels: D, the depth of the feature map.
        stride: input pixels per cell of the feature map.
        mean, std: normalization of images in 0..1.
        interpolation: how the weights' authors resized images.
        parameters: how many the backbone has.
        weights: where the weights come from, with their version tag; "random" without.
        license: of the weights.
        lgconv: whether its 3x3 convolutions carry a global branch.
    """

    name: str
    library: Library
    architecture: str
    size: int
    channels: int
    stride: int
    mean: Triple = IMAGENET_MEAN
    std: Triple = IMAGENET_STD
    interpolation: str = "bilinear"
    parameters: int = 0
    weights: str = "random"
    license: str = "none"
    lgconv: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that ``from_json`` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> BackboneSpec:
        """Read what ``to_json`` wrote; anything else is an error."""
        known = {each.name: each for each in fields(cls)}
        if set(values) != set(known):
            odd = sorted(set(values) ^ set(known))
            raise TagfillError(f"the backbone's description has odd or missing keys: {odd}")
        if values["library"] not in get_args(Library):
            raise TagfillError(f"unknown backbone library {values['library']!r}")
        mean, std = (cast(Triple, tuple(map(float, values[key]))) for key in ("mean", "std"))
        return cls(**{**values, "mean": mean, "std": std})
