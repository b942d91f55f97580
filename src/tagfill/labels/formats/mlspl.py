"""The layout of the published single-positive (MLSPL) code: arrays in ``formatted_*.npy``.

Cole et al. 2021. ``formatted_{train,val}_labels.npy`` hold the full labels (0, 1),
``formatted_{train,val}_labels_obs.npy`` the observed ones in that code's own coding: 1 observed
positive, 0 unknown, -1 observed negative. The published "val" files are the protocol's test set;
its validation set is a fifth of the train files. As in that protocol validation and test images
keep their full labels.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagfill.array_files import read_array
from tagfill.errors import TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import absence_note
from tagfill.labels.formats._merge import Records
from tagfill.labels.formats._text import text_lines
from tagfill.labels.formats.base import Format, Source
from tagfill.labels.table import NEGATIVE, UNKNOWN, Labels, Rows

_VOC_NAMES = (
    "aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike"
    " person pottedplant sheep sofa train tvmonitor"
)
VOC_CLASSES = tuple(_VOC_NAMES.split())
_VOC_IMAGE = re.compile(r"(\d{4}_)?\d{6}\.jpg")
_OURS = np.array([UNKNOWN, 1, NEGATIVE], dtype=np.int8)
"""Our code for the published 0, 1 and -1, the last by counting from the end."""


def _read(source: Source) -> Dataset:
    path = source.path
    parts = [part for part in ("train", "val") if _file(path, part, "labels").is_file()]
    if "train" not in parts:
        raise source.refusal("it has no formatted_train_labels.npy")
    labels = [_codes(_file(path, part, "labels"), (0, 1)) for part in parts]
    images = [image for part in parts for image in _images(_file(path, part, "images"))]
    if len({part.shape[1] for part in labels}) > 1 or sum(map(len, labels)) != len(images):
        shapes = " and ".join(str(part.shape) for part in labels)
        raise source.refusal(f"labels {shapes} do not fit {len(images)} images")
    truth = np.concatenate(labels)
    splits, notes = _splits(path, len(labels[0]), len(truth))
    observed, more = _observed(path, labels[0].shape, truth, splits)
    closed = source.options.absent == "negative"
    if closed:
        observed[observed == UNKNOWN] = NEGATIVE
    records = Records(source, images, range(1, len(images) + 1), (), observed)
    twice = [image for image, count in Counter(records.ids).items() if count > 1]
    if twice:
        raise source.refusal(f"image {twice[0]!r} is listed twice")
    records.classes, naming = _classes(source, records.ids, truth.shape[1])
    absence = [absence_note("negative")] if closed else []
    dataset = records.dataset(notes=[*notes, *more, naming, *absence])
    return replace(
        dataset,
        splits=splits,
        truth=dataset.table.with_values(truth),
        image_root=source.options.image_root,
        features=_features(path, parts),
    )


def _file(path: Path, part: str, kind: str) -> Path:
    return path / f"formatted_{part}_{kind}.npy"


def _load(file: Path) -> npt.NDArray[Any]:
    if not file.is_file():
        raise TagfillError("the file is missing", file=file)
    return read_array(file)


def _codes(file: Path, allowed: tuple[int, ...]) -> Labels:
    array = _load(file)
    if array.ndim != 2 or array.dtype.kind not in "biuf" or not np.isin(array, allowed).all():
        raise TagfillError(f"expected a matrix of {', '.join(map(str, allowed))}", file=file)
    codes: Labels = array.astype(np.int8)
    return codes


def _images(file: Path) -> list[str]:
    stored = _load(file).ravel()
    if stored.dtype.kind == "U":
        codes = np.frombuffer(stored.tobytes(), f"{stored.dtype.byteorder}u4")
        if codes.max(initial=0) > sys.maxunicode:
            raise TagfillError("the image names are not text", file=file)
    try:
        return [name.decode() if isinstance(name, bytes) else str(name) for name in stored.tolist()]
    except UnicodeDecodeError:
        raise TagfillError("the image names are not UTF-8", file=file) from None


def _observed(
    path: Path, shape: tuple[int, ...], truth: Labels, splits: dict[str, Rows]
) -> tuple[Labels, list[str]]:
    """Observed labels of the training rows, full labels of all others."""
    observed = truth.copy()
    file = _file(path, "train", "labels_obs")
    if not file.is_file():
        return observed, ["there are no observed labels: training labels are the full ones"]
    published = _codes(file, (-1, 0, 1))
    if published.shape != shape:
        raise TagfillError(f"shape {published.shape} is not that of the labels, {shape}", file=file)
    observed[splits["train"]] = _OURS[published[splits["train"]]]
    return observed, ["validation and test images keep their full labels, training ones do not"]


def _splits(path: Path, count: int, total: int) -> tuple[dict[str, Rows], list[str]]:
    files = [path / f"split_{part}_index.npy" for part in ("train", "val")]
    if all(file.is_file() for file in files):
        train, val = map(_load, files)
        for file, rows in zip(files, (train, val), strict=True):
            if rows.ndim != 1 or rows.dtype.kind not in "iu":
                raise TagfillError("expected row numbers", file=file)
        if not np.array_equal(np.sort(np.concatenate([train, val])), np.arange(count)):
            raise TagfillError(f"the split does not divide the {count} train rows", file=files[0])
        note = f"train and val split by {files[0].name} and {files[1].name}"
    else:
        from tagfill.labels.split import published_split

        train, val = published_split(count)
        note = "train and val split as published: 80/20 with seed 1200"
    splits = {"train": train, "val": val, "test": np.arange(count, total)}
    return {name: rows.astype(np.intp) for name, rows in splits.items() if len(rows)}, [note]


def _classes(source: Source, images: Sequence[str], count: int) -> tuple[tuple[str, ...], str]:
    file = source.path / "classes.txt"
    if source.options.classes is not None:
        names, origin = source.options.classes, "the class list"
    elif file.is_file():
        names, origin = tuple(line.strip() for _, line in text_lines(file)), file.name
    elif count == len(VOC_CLASSES) and all(map(_VOC_IMAGE.fullmatch, images[:100])):
        names, origin = VOC_CLASSES, "PASCAL VOC, which the image names look like"
    else:
        names = tuple(f"class_{number}" for number in range(count))
        origin = "their column numbers; add a classes.txt beside the arrays to name them"
    if len(names) != count:
        raise source.refusal(f"{len(names)} class names for {count} columns")
    return names, f"class names are from {origin}"


def _features(path: Path, parts: list[str]) -> dict[str, tuple[Path, ...]]:
    first = f"{parts[0]}_features_"
    sets = {}
    for file in sorted(path.glob(f"{first}*.npy")):
        name = file.stem.removeprefix(first)
        files = tuple(path / f"{part}_features_{name}.npy" for part in parts)
        if all(part.is_file() for part in files):
            sets[name] = files
    return sets


FORMAT = Format(
    "mlspl",
    "MLSPL folder of formatted_*.npy",
    lambda path: (path / "formatted_train_labels.npy").is_file(),
    _read,
    default_absent=None,
)
