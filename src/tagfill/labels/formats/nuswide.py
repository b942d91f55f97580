"""NUS-WIDE, the official lists: 81 concepts, one file of 0 and 1 for each.

Chua et al. 2009. ``ImageList/*.txt`` names the images, ``Concepts81.txt`` the classes, and
``TrainTestLabels/Labels_<concept>_{Train,Test}.txt`` (or ``AllLabels``) hold the labels.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tagfill.errors import TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._entries import Entries
from tagfill.labels.formats._text import text_lines
from tagfill.labels.formats._wide import wide_dataset
from tagfill.labels.formats.base import Format, Source
from tagfill.labels.table import Labels

CONCEPTS = ("Concepts81.txt", "ConceptsList/Concepts81.txt")
GROUND_TRUTH = ("Groundtruth", "GroundTruth")
_SPLITS = {"Train": "train", "Test": "test"}


def _concepts(path: Path) -> Path | None:
    files = (path / place for place in CONCEPTS)
    return next((file for file in files if file.is_file()), None)


def _detect(path: Path) -> bool:
    return _concepts(path) is not None and (path / "ImageList").is_dir()


def _read(source: Source) -> Dataset:
    path, concepts = source.path, _concepts(source.path)
    if concepts is None:
        raise source.refusal("it has no Concepts81.txt")
    classes = tuple(line.strip() for _, line in text_lines(concepts))
    folder, lists = _label_folder(path, "TrainTestLabels"), _SPLITS
    if folder is None:
        folder, lists = _label_folder(path, "AllLabels"), {"": ""}
    if folder is None:
        raise source.refusal("it has neither TrainTestLabels nor AllLabels")
    images: list[str] = []
    splits: list[str] = []
    values = []
    for part, split in lists.items():
        file = path / "ImageList" / f"{part}Imagelist.txt"
        if not file.is_file():
            raise TagfillError("the file is missing", file=file)
        listed = [line.strip().replace("\\", "/") for _, line in text_lines(file)]
        images += listed
        splits += [split] * len(listed)
        values.append(_labels(folder, classes, f"_{part}.txt" if part else ".txt", len(listed)))
    entries = Entries(images, range(1, len(images) + 1), splits, np.concatenate(values))
    dataset = wide_dataset(source, classes, entries)
    none = int((dataset.table.values == 0).all(axis=1).sum())
    note = f"{none} images have none of the classes"
    return replace(dataset, notes=(*dataset.notes, note))


def _label_folder(path: Path, name: str) -> Path | None:
    folders = (path / place / name for place in ("", *GROUND_TRUTH))
    return next((folder for folder in folders if folder.is_dir()), None)


def _labels(folder: Path, classes: tuple[str, ...], ending: str, count: int) -> Labels:
    values = np.empty((count, len(classes)), dtype=np.int8)
    for column, name in enumerate(classes):
        file = folder / f"Labels_{name}{ending}"
        if not file.is_file() or file.parent != folder:
            raise TagfillError("the file is missing", file=file)
        digits = np.frombuffer(b"".join(file.read_bytes().split()), dtype=np.uint8)
        if len(digits) != count or not np.isin(digits, (ord("0"), ord("1"))).all():
            raise TagfillError(f"expected {count} lines of 0 or 1", file=file)
        values[:, column] = digits - ord("0")
    return values


FORMAT = Format("nuswide", "NUS-WIDE lists folder", _detect, _read, default_absent=None)
