"""Description of a backbone: enough to rebuild it, feed it and cite its weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, cast, get_args

from tagfill.errors import TagfillError
from tagfill.models.checks import (
    LARGEST_SIDE,
    LARGEST_WIDTH,
    check_architecture,
    numbers,
    whole_number,
)

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
        channels: D, the depth of the feature map.
        stride: input pixels per cell of the feature map.
        mean, std: normalization of images in 0..1.
        interpolation: how the weights' authors resized images.
        weights: where the weights come from, with their version tag; "random" without.
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
        known = {field.name for field in fields(cls)}
        if set(values) != known:
            odd = sorted(set(values) ^ known)
            raise TagfillError(f"the backbone's description has unknown or missing keys: {odd}")
        if values["library"] not in get_args(Library):
            raise TagfillError(f"unknown backbone library {values['library']!r}")
        mean, std = (numbers(key, values[key], 3) for key in ("mean", "std"))
        if not all(value > 0 for value in std):
            raise TagfillError(f"std must be above 0, not {std}")
        spec = cls(**{**values, "mean": cast(Triple, mean), "std": cast(Triple, std)})
        spec.check()
        return spec

    def check(self) -> None:
        """Refuse what no installed library can build without a download."""
        given = self.library == "features"
        check_architecture(self.library, self.architecture, self.options)
        whole_number("size", self.size, 0 if given else 1, LARGEST_SIDE)
        whole_number("channels", self.channels, 1, LARGEST_WIDTH)
        whole_number("stride", self.stride, 1, LARGEST_SIDE)
        whole_number("parameters", self.parameters, 0, 10**12)
        for name in ("name", "interpolation", "weights", "license"):
            if not isinstance(getattr(self, name), str):
                raise TagfillError(f"the backbone's {name} must be text")
        if not isinstance(self.lgconv, bool):
            raise TagfillError("lgconv must be true or false")
