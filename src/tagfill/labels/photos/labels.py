"""From changed labels to changes of each photo's tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from tagfill.errors import TagfillError
from tagfill.image_files import find_images
from tagfill.labels.dataset import Dataset
from tagfill.labels.photos.change import Change
from tagfill.labels.table import NEGATIVE, POSITIVE, LabelTable

Confidence = Mapping[tuple[str, str], float | None]
"""Probabilities of a model, by image and tag."""


def photo_changes(
    before: Dataset,
    after: LabelTable,
    confidence: Confidence,
    suggested: Iterable[tuple[str, str]] = (),
) -> dict[str, Change]:
    """Changes of every photo with new labels.

    Photos that hold their labels themselves get what changed; others all labels that are known,
    negatives only where some labels are unknown.

    Args:
        before: the labels as they were read.
        after: the labels as they are to be.
        confidence: of suggested tags, decided or not.
        suggested: undecided images and tags, to be written as suggestions.
    """
    fresh = after.values != before.table.values
    if before.format != "xmp":
        fresh = after.values == POSITIVE
        if after.unknowns:
            fresh |= after.values == NEGATIVE
    said: dict[str, tuple[dict[str, float | None], set[str], dict[str, float | None]]] = {}
    for row, column in np.argwhere(fresh).tolist():
        image, name = after.images[row], after.classes[column]
        there, gone, _ = said.setdefault(image, ({}, set(), {}))
        if after.values[row, column] == POSITIVE:
            there[name] = confidence.get((image, name))
        else:
            gone.add(name)
    for image, name in suggested:
        said.setdefault(image, ({}, set(), {}))[2][name] = confidence.get((image, name))
    return {
        image: Change(there, frozenset(gone), proposed)
        for image, (there, gone, proposed) in said.items()
    }


def photo_paths(images: Iterable[str], root: Path | None) -> dict[str, Path]:
    """The files of images; all must be there."""
    if root is None:
        raise TagfillError("the folder of the photos is not known", remedy="set it with --images")
    names = list(images)
    paths = dict(zip(names, find_images(root, names), strict=True))
    missing = [image for image, path in paths.items() if path is None]
    if missing:
        raise TagfillError(f"{len(missing):,} photos are missing, first {missing[0]!r}", file=root)
    return {image: path for image, path in paths.items() if path is not None}
