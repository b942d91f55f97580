"""A network ready for use elsewhere: plain pixels in, calibrated probabilities out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from tagfill.errors import TagfillError
from tagfill.evaluate.calibration import check_calibration
from tagfill.labels.hierarchy import as_hierarchy, check_hierarchy
from tagfill.labels.table import Hierarchy
from tagfill.models.checks import LARGEST_SIDE, LARGEST_WIDTH, class_names, numbers, whole_number
from tagfill.models.network import Network

FORMAT, VERSION = "tagfill-deployed", 1
METADATA = "tagfill"
"""Key under which exported files carry their metadata as JSON."""


@dataclass(frozen=True)
class Metadata:
    """Everything needed to use a deployed model.

    Args:
        thresholds: [K] probability from which on a tag is given; None for 0.5.
        reads: images, or features computed elsewhere.
        size: side of the square images.
        channels: D of the features; 3 for images.
        maps: whether features are maps [N, D, H, W].
        license: of the backbone's weights.
        hierarchy: the classes each class implies; a tag is never more likely than those.
    """

    classes: tuple[str, ...]
    thresholds: tuple[float, ...] | None
    reads: Literal["images", "features"]
    size: int
    channels: int
    maps: bool = False
    license: str = "none"
    hierarchy: Hierarchy = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        network: Network,
        classes: Sequence[str],
        thresholds: Sequence[float] | None,
        hierarchy: Hierarchy | None = None,
    ) -> Metadata:
        spec = network.backbone.spec
        on_features = spec.library == "features"
        return cls(
            classes=tuple(classes),
            thresholds=None if thresholds is None else tuple(thresholds),
            reads="features" if on_features else "images",
            size=spec.size,
            channels=spec.channels if on_features else 3,
            maps=on_features and network.head.reads == "maps",
            license=spec.license,
            hierarchy=hierarchy or {},
        )

    @property
    def example(self) -> Tensor:
        """[2, ...] an input of the right shape."""
        if self.reads == "images":
            return torch.rand(2, 3, self.size, self.size)
        return torch.rand(2, self.channels, *((7, 7) if self.maps else ()))

    def to_json(self) -> str:
        """Text that ``from_json`` reads; readable by people and other programs."""
        what: dict[str, Any] = {"reads": self.reads, "channels": self.channels, "maps": self.maps}
        if self.reads == "images":
            how = {"color": "RGB", "range": [0, 1], "resize": "squash", "filter": "bilinear"}
            what |= {"size": self.size, **how}
        return json.dumps(
            {
                "format": FORMAT,
                "version": VERSION,
                "classes": self.classes,
                "thresholds": self.thresholds,
                "input": what,
                "outputs": ["probabilities", "logits"],
                "weights_license": self.license,
                "hierarchy": dict(self.hierarchy),
                "written_by": f"tagfill {version('tagfill')}",
            }
        )

    @classmethod
    def from_json(cls, text: str | None) -> Metadata:
        """Read what ``to_json`` wrote."""
        try:
            document = json.loads(text or "")
            if document["format"] != FORMAT or document["version"] != VERSION:
                raise KeyError("format")
            limits, what = document["thresholds"], document["input"]
            classes = class_names(document["classes"])
            if limits is not None:
                limits = numbers("thresholds", limits, len(classes), low=0, high=1)
            if what["reads"] not in ("images", "features"):
                raise KeyError("reads")
            lowest = 1 if what["reads"] == "images" else 0
            hierarchy = as_hierarchy(document.get("hierarchy"))
            check_hierarchy(classes, hierarchy)
            return cls(
                classes=classes,
                thresholds=limits,
                reads=cast(Literal["images", "features"], what["reads"]),
                size=whole_number("size", what.get("size", 0), lowest, LARGEST_SIDE),
                channels=whole_number("channels", what["channels"], 1, LARGEST_WIDTH),
                maps=bool(what["maps"]),
                hierarchy=hierarchy,
                license=str(document["weights_license"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise TagfillError(
                "does not list its classes, so it was not written by `tagfill export`"
            ) from error


class Deployable(nn.Module):
    """Normalization, network, calibration and sigmoid in one module.

    Args:
        calibration: what ``tagfill.evaluate.fit_calibration`` gave; None for the plain sigmoid.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, network: Network, calibration: Mapping[str, Any] | None) -> None:
        super().__init__()
        spec = network.backbone.spec
        self.network = network
        self.normalizes = spec.library != "features"
        self.register_buffer("mean", torch.tensor(spec.mean)[:, None, None])
        self.register_buffer("std", torch.tensor(spec.std)[:, None, None])
        self.probabilities = calibration_module(calibration, network.classes)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Probabilities and logits, [N, K] each.

        Args:
            inputs: [N, 3, H, W] RGB in 0..1, or features where the network reads those.
        """
        if self.normalizes:
            inputs = (inputs - self.mean) / self.std
        logits = self.network(inputs).logits
        return self.probabilities(logits), logits


def calibration_module(calibration: Mapping[str, Any] | None, classes: int) -> nn.Module:
    """The map from logits to probabilities as a module."""
    if calibration is None:
        return nn.Sigmoid()
    check_calibration(calibration, classes)
    if calibration["kind"] == "isotonic":
        return Stepwise(calibration["knots"], calibration["values"])
    return Platt(calibration["slope"], calibration["bias"])


class Platt(nn.Module):
    """sigmoid(slope x + bias), class by class."""

    slope: Tensor
    bias: Tensor

    def __init__(self, slope: Sequence[float], bias: Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("slope", torch.tensor(slope, dtype=torch.float32))
        self.register_buffer("bias", torch.tensor(bias, dtype=torch.float32))

    def forward(self, logits: Tensor) -> Tensor:
        return torch.sigmoid(logits * self.slope + self.bias)


class Stepwise(nn.Module):
    """Piecewise linear: first value + sum of rises, each counted as far as the logit reaches.

    Tables of different length are filled up with rises of 0. Written with clamps instead of a
    search, so that any runtime can execute it.
    """

    start: Tensor
    width: Tensor
    rise: Tensor
    first: Tensor

    def __init__(self, knots: Sequence[Sequence[float]], values: Sequence[Sequence[float]]) -> None:
        super().__init__()
        longest = max(max(map(len, knots)) - 1, 1)
        start, width = torch.zeros(len(knots), longest), torch.ones(len(knots), longest)
        rise = torch.zeros(len(knots), longest)
        for row, (at, level) in enumerate(zip(knots, values, strict=True)):
            places, levels = (torch.tensor(row, dtype=torch.float64) for row in (at, level))
            count = len(at) - 1
            start[row, :count] = places[:-1].float()
            width[row, :count] = places.diff().float().clamp(min=1e-30)  # knots may coincide
            rise[row, :count] = levels.diff().float()
        self.register_buffer("start", start)
        self.register_buffer("width", width)
        self.register_buffer("rise", rise)
        self.register_buffer("first", torch.tensor([float(level[0]) for level in values]))

    def forward(self, logits: Tensor) -> Tensor:
        come = ((logits[..., None] - self.start) / self.width).clamp(0, 1)
        return self.first + (come * self.rise).sum(dim=-1)
