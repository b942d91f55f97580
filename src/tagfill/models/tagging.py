"""From probabilities to tags, and from any kind of picture to network input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from tagfill.arrays import Numbers
from tagfill.errors import TagfillError
from tagfill.images import open_image
from tagfill.labels.hierarchy import consistent, with_parents
from tagfill.labels.table import Hierarchy
from tagfill.models.deploy import Metadata

Picture = str | Path | Image.Image | npt.NDArray[Any]
"""A file, a PIL image, or an array [H, W, 3] of uint8, or of floats in 0..1."""
Pictures = Picture | Iterable[Picture]
"""One or many; an array [N, H, W, 3] is N pictures."""

UNFITTED = 0.5
"""The threshold of models that have none."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """Prediction for one image.

    Args:
        probabilities: [K] of all classes.
        tags: probability by name of the tags given, the most probable first.
    """

    image: str
    probabilities: Numbers = field(repr=False)
    tags: dict[str, float]


@dataclass(frozen=True)
class TagRule:
    """Which tags an image gets.

    Args:
        thresholds: one for all, [K], or None for no lower limit.
        hierarchy: the classes each class implies: a tag is never more likely than those.
    """

    classes: tuple[str, ...]
    thresholds: float | tuple[float, ...] | None
    top: int | None = None
    hierarchy: Hierarchy = field(default_factory=dict)

    @classmethod
    def of(
        cls, metadata: Metadata, *, top: int | None = None, threshold: float | None = None
    ) -> TagRule:
        """The model's own thresholds by default.

        ``threshold`` takes their place. ``top`` alone gives that many tags whatever their
        probability; with a threshold, those of them that reach it.
        """
        if top is not None and top < 1:
            raise TagfillError(f"the number of tags must be at least 1, got {top}")
        if threshold is not None and not 0 <= threshold <= 1:
            raise TagfillError(f"a threshold of {threshold:g} is not in 0 to 1")
        if threshold is not None or top is not None:
            return cls(metadata.classes, threshold, top, metadata.hierarchy)
        limits = metadata.thresholds or UNFITTED
        return cls(metadata.classes, limits, hierarchy=metadata.hierarchy)

    def predictions(self, names: Sequence[str], probabilities: Numbers) -> Iterator[Prediction]:
        """Decide for a batch [N, K]."""
        if self.hierarchy:
            probabilities = consistent(probabilities, self.classes, self.hierarchy)
        for name, row in zip(names, probabilities, strict=True):
            yield Prediction(name, row, self._tags(row))

    def _tags(self, probabilities: Numbers) -> dict[str, float]:
        order = np.argsort(-probabilities, kind="stable")[: self.top]
        least = 0.0 if self.thresholds is None else self.thresholds
        limits = np.broadcast_to(np.asarray(least, dtype=np.float32), probabilities.shape)
        reached = [
            self.classes[column] for column in order if probabilities[column] >= limits[column]
        ]
        if self.top is None and self.hierarchy:
            implied = set(with_parents(reached, self.hierarchy))
            reached = [self.classes[column] for column in order if self.classes[column] in implied]
        chance = dict(zip(self.classes, probabilities.tolist(), strict=True))
        return {name: round(chance[name], 6) for name in reached}


def pixels(picture: Picture, size: int) -> Numbers:
    """A picture as [3, size, size] RGB in 0..1, its proportions not kept."""
    image = _opened(picture, size).convert("RGB")
    square = image.resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(square, dtype=np.float32).transpose(2, 0, 1) / np.float32(255)


def _opened(picture: Picture, size: int) -> Image.Image:
    if isinstance(picture, Image.Image):
        return picture
    if isinstance(picture, str | Path):
        return open_image(picture, size)
    if not isinstance(picture, np.ndarray):
        raise TagfillError(
            f"{type(picture).__name__} is not a picture",
            remedy="give a path, a PIL image or an array [H, W, 3]",
        )
    if picture.ndim != 3 or picture.shape[2] != 3:
        raise TagfillError(f"an image is an array [height, width, 3], got {picture.shape}")
    if picture.dtype == np.uint8:
        return Image.fromarray(picture)
    if picture.dtype.kind != "f" or not (picture.min() >= 0 and picture.max() <= 1):
        raise TagfillError("an image array holds uint8, or floats in 0..1")
    return Image.fromarray(np.rint(picture * 255).astype(np.uint8))


def as_list(images: Pictures) -> list[Picture]:
    if isinstance(images, str | Path | Image.Image):
        return [images]
    if isinstance(images, np.ndarray) and images.ndim == 3:
        return [images]
    return list(images)


def checked_features(features: npt.ArrayLike, metadata: Metadata) -> Numbers:
    """Features [N, D] or maps [N, D, H, W] as the model needs them."""
    array = np.asarray(features)
    dimensions = 4 if metadata.maps else 2
    if (
        array.dtype.kind not in "fiu"
        or array.ndim != dimensions
        or array.shape[1] != metadata.channels
    ):
        shape = f"[images, {metadata.channels}{', height, width' if metadata.maps else ''}]"
        raise TagfillError(
            f"the model reads features of shape {shape}, these are {array.dtype} of {array.shape}"
        )
    with np.errstate(over="ignore"):
        return np.asarray(array, dtype=np.float32)
