"""Labels and features that a Python program has in memory, as the files a run is made from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from tagfill.errors import TagfillError
from tagfill.files import atomic_path
from tagfill.labels import UNKNOWN, Dataset, LabelTable
from tagfill.labels.io import load_labels, save_labels

LabelInput = str | Path | LabelTable | Dataset | npt.ArrayLike
"""A label file or folder, a table, a data set, a data frame, or an array [N, K] of 1, 0, -1."""
IMAGE_COLUMNS = ("image", "file", "filename", "path", "id")


def is_path(labels: object) -> bool:
    """Whether labels are on disk already."""
    return isinstance(labels, str | Path)


def as_dataset(
    labels: LabelInput,
    images: Sequence[str | Path] | None = None,
    classes: Sequence[str] | None = None,
) -> Dataset:
    """Labels in memory as a data set.

    Args:
        labels: a data frame has a column per class, and images in its index or in a column called
            image, file, filename, path or id. Missing values are unknown. A frame
            with other text, such as lists of tags, is read like a CSV file.
        images: the file of each row of an array.
        classes: names of the columns of an array.
    """
    if isinstance(labels, Dataset):
        return labels
    if _is_frame(labels) and hasattr(labels, "to_csv") and _has_text(labels):
        return _read_frame(labels)
    table = labels if isinstance(labels, LabelTable) else _table(labels, images, classes)
    return Dataset(table, source=Path("labels.csv"), format="csv_wide")


def named(labels: LabelInput, training: Dataset | None, split: str) -> Dataset:
    """Labels of a split as a data set; an array gets the names of the training labels.

    The rows of the split ``truth`` are the training images.
    """
    if training is None or isinstance(labels, LabelTable | Dataset) or _is_frame(labels):
        return as_dataset(labels)
    dataset = as_dataset(labels, classes=training.table.classes)
    if split != "truth":
        return dataset
    if len(dataset.table) != len(training.table):
        raise TagfillError(
            f"truth has {len(dataset.table):,} rows, labels have {len(training.table):,}",
            remedy="give the full labels of the same images",
        )
    return replace(dataset, table=replace(dataset.table, images=training.table.images))


def keep(dataset: Dataset, folder: Path, name: str) -> Path:
    """Write a data set into the run folder, so that the run can be resumed and opened again."""
    path = folder / f"{name}.csv"
    save_labels(replace(dataset, boxes=None, suggestions=None), path, format="csv_wide")
    return path


def keep_features(features: npt.ArrayLike, folder: Path, rows: int) -> Path:
    """Write a feature matrix into the run folder."""
    matrix = np.asarray(features)
    if matrix.ndim != 2 or len(matrix) != rows:
        raise TagfillError(
            f"features of shape {matrix.shape} do not fit {rows:,} rows of labels",
            remedy=f"give a matrix [{rows}, D]",
        )
    path = folder / "features.npy"
    with atomic_path(path) as draft:
        np.save(draft, matrix, allow_pickle=False)
    return path


def _table(
    labels: Any, images: Sequence[str | Path] | None, classes: Sequence[str] | None
) -> LabelTable:
    if _is_frame(labels):
        named = _image_column(labels)
        ids = labels.index if named is None else labels[named]
        frame = labels if named is None else labels.drop(columns=[named])
        columns = tuple(map(str, frame.columns))
        return LabelTable(tuple(map(str, ids)), columns, _codes(frame.to_numpy()))
    values = np.asarray(labels)
    if values.ndim != 2:
        raise TagfillError(f"labels must be a matrix [images, classes], got shape {values.shape}")
    names = [f"class_{column}" for column in range(values.shape[1])] if classes is None else classes
    if images is None:
        width = len(str(len(values)))
        ids = [f"row-{row:0{width}}" for row in range(len(values))]
    else:
        root = common_folder(images)
        ids = [Path(image).absolute().relative_to(root).as_posix() for image in images]
    return LabelTable(tuple(ids), tuple(map(str, names)), _codes(values))


def _is_frame(labels: object) -> bool:
    return hasattr(labels, "columns") and hasattr(labels, "to_numpy")


def common_folder(images: Sequence[str | Path]) -> Path:
    """The deepest folder that all image files are in."""
    return Path(os.path.commonpath([Path(image).absolute().parent for image in images]))


def _image_column(frame: Any) -> Any:
    return next((name for name in frame.columns if str(name).lower() in IMAGE_COLUMNS), None)


def _has_text(frame: Any) -> bool:
    """Whether a column beside that of the images holds text."""
    others = [name for name in frame.columns if name != _image_column(frame)]
    return any(isinstance(value, str) for name in others for value in frame[name])


def _read_frame(frame: Any) -> Dataset:
    with TemporaryDirectory() as folder:
        file = Path(folder, "labels.csv")
        frame.to_csv(file, index=frame.index.name is not None)
        try:
            dataset = load_labels(file)
        except TagfillError as error:
            raise TagfillError(str(error).replace(str(file), "the data frame")) from error
    return replace(dataset, source=Path("labels.csv"), image_root=None)


def _codes(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Missing values are unknown; ``LabelTable`` refuses anything but 1, 0 and -1."""
    if values.dtype == object:
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise TagfillError("labels must be 1, 0, -1 or missing") from None
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), UNKNOWN, values)
    return values
