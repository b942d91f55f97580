"""Labels of several folders as one data set, each folder a split: as Roboflow exports them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import numpy as np

from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._merge import usual_split
from tagfill.labels.table import UNKNOWN, LabelTable, Rows


def joined_splits(folder: Path, parts: Mapping[str, Dataset]) -> Dataset:
    """One data set of the labels in the folders train, val and test of a folder.

    Args:
        folder: the folder of all.
        parts: name of each folder in it, and its labels with the place of their images.
    """
    classes = tuple(dict.fromkeys(name for part in parts.values() for name in part.table.classes))
    images: list[str] = []
    splits: dict[str, Rows] = {}
    values = [np.empty((0, len(classes)), dtype=np.int8)]
    for name, part in parts.items():
        root = (part.image_root or folder / name).relative_to(folder).as_posix()
        rows = np.arange(len(images), len(images) + len(part.table))
        splits[usual_split(name)] = rows
        images += [str(PurePosixPath(root, image)) for image in part.table.images]
        block = np.full((len(rows), len(classes)), UNKNOWN, dtype=np.int8)
        block[:, [classes.index(known) for known in part.table.classes]] = part.table.values
        values.append(block)
    first = next(iter(parts.values()))
    read = ", ".join(f"{name}/{part.source.name}" for name, part in parts.items())
    notes = dict.fromkeys(note for part in parts.values() for note in part.notes)
    return Dataset(
        table=LabelTable(tuple(images), classes, np.concatenate(values)),
        source=folder,
        format=first.format,
        splits=splits,
        image_root=folder,
        free_tags=any(part.free_tags for part in parts.values()),
        notes=(f"read as splits: {read}", *notes),
    )
