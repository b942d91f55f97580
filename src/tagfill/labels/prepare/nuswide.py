"""NUS-WIDE, 81 concepts: the published split from its files, otherwise a split of our own.

The single-positive papers (Cole et al. 2021) crawled the images again and divided them anew. Their
split exists only as files, ``formatted_{train,val}_{images,labels}.npy``. Without them the official
training list is divided 80/20 by the same rule and the official test list is the test set: not the
papers' numbers of images.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tagfill.labels.dataset import Dataset
from tagfill.labels.io import load_labels
from tagfill.labels.prepare.base import (
    OURS,
    PUBLISHED,
    Options,
    Prepared,
    Source,
    arranged,
    first,
    require,
)
from tagfill.labels.table import POSITIVE

_PAGE = (
    "the NUS-WIDE project page (NUS Lab for Media Search): Groundtruth, ImageList and ConceptsList;"
    " the published split from the authors of 'Multi-Label Learning from Single Positive Labels'"
)
_ARRAYS = tuple(
    f"formatted_{part}_{kind}.npy" for part in ("train", "val") for kind in ("images", "labels")
)
_CONCEPTS = ("Concepts81.txt", "ConceptsList/Concepts81.txt")
_IMAGE_FOLDERS = ("Flickr", "images", "Images")


def _read(root: Path, options: Options) -> Prepared:
    folder = options.published or root
    if options.published is not None or (root / _ARRAYS[0]).is_file():
        return _published(folder, root, options)
    return _official(root, options)


def _published(folder: Path, root: Path, options: Options) -> Prepared:
    require(folder, {file: (file,) for file in _ARRAYS}, _PAGE)
    dataset = load_labels(folder, format="mlspl")
    full = replace(dataset, table=dataset.truth or dataset.table, features={})
    test = full.splits["test"]
    train = np.arange(len(full.table) - len(test))
    expected = {"train": 120000, "val": 30000, "test": 60260}
    return Prepared(
        arranged(replace(full, image_root=_images(root)), train, test, val=options.val),
        split=PUBLISHED,
        expected=expected if options.val else {"train": 150000, "test": 60260},
        notes=(_bare(full), next(note for note in dataset.notes if "class names" in note)),
    )


def _official(root: Path, options: Options) -> Prepared:
    places = (*_CONCEPTS, *(f"*/{place}" for place in _CONCEPTS))
    (concepts,) = require(root, {"ConceptsList/Concepts81.txt": places}, _PAGE)
    home = concepts.parent.parent if concepts.parent.name == "ConceptsList" else concepts.parent
    folders = ("TrainTestLabels", "Groundtruth/TrainTestLabels", "GroundTruth/TrainTestLabels")
    require(home, {"ImageList": ("ImageList",), "Groundtruth/TrainTestLabels": folders}, _PAGE)
    dataset = load_labels(home, format="nuswide")
    splits = dataset.splits
    note = "the published split exists only as files (--published FOLDER): this one is ours"
    return Prepared(
        arranged(
            replace(dataset, image_root=_images(root)),
            splits["train"],
            splits["test"],
            val=options.val,
        ),
        split=OURS,
        notes=(note, _bare(dataset)),
    )


def _images(root: Path) -> Path | None:
    return first(root, (*_IMAGE_FOLDERS, *(f"*/{name}" for name in _IMAGE_FOLDERS)))


def _bare(dataset: Dataset) -> str:
    count = int((dataset.table.values != POSITIVE).all(axis=1).sum())
    return f"{count:,} images show none of the concepts: they have no positive to be observed"


NUSWIDE = Source("NUS-WIDE, 81 concepts", _read, uses=("published",))
