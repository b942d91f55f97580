"""PASCAL VOC 2012 and 2007, from the devkit.

VOC 2012 as in the single-positive papers (Cole et al. 2021): the official training images divided
80/20, the official validation images as test set. VOC 2007 as in the partial-label papers: the
official trainval and test images. Images are ordered by file name.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from tagfill.errors import TagfillError, counted
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats import ReadOptions
from tagfill.labels.formats._text import text_lines
from tagfill.labels.io import load_labels
from tagfill.labels.prepare import base
from tagfill.labels.table import Rows

_PAGE = "the PASCAL VOC project page (The PASCAL Visual Object Classes Challenge {year}): {files}"
_YEAR = re.compile(r"VOC\d{4}")
_FILES = {
    "2012": "VOCtrainval_11-May-2012.tar",
    "2007": "VOCtrainval_06-Nov-2007.tar and VOCtest_06-Nov-2007.tar, unpacked in one folder",
}


def _read_2012(root: Path, options: base.Options) -> base.Prepared:
    dataset = _devkit(root, "2012", ("train", "val"), options)
    train, test = (_listed(dataset, name) for name in ("train", "val"))
    expected = {"train": 4574, "val": 1143, "test": 5823}
    return base.Prepared(
        base.arranged(dataset, train, test, val=options.val),
        rule=base.PUBLISHED,
        expected=expected if options.val else {"train": 5717, "test": 5823},
        notes=("test is the official validation set: labels of the official test set are secret",),
    )


def _read_2007(root: Path, options: base.Options) -> base.Prepared:
    dataset = _devkit(root, "2007", ("trainval", "test"), options)
    train, test = (_listed(dataset, name) for name in ("trainval", "test"))
    held_out = "validation images are drawn by the rule of the single-positive papers; papers on"
    note = f"{held_out} VOC 2007 have none and choose the epoch on the test set (--no-val)"
    return base.Prepared(
        base.arranged(dataset, train, test, val=options.val),
        rule=base.OURS if options.val else base.PUBLISHED,
        expected={} if options.val else {"train": 5011, "test": 4952},
        notes=(note,) if options.val else (),
    )


def _devkit(root: Path, year: str, needed: tuple[str, ...], options: base.Options) -> Dataset:
    """All labeled images of a year's devkit, anywhere below ``root``."""
    page = _PAGE.format(year=year, files=_FILES[year])
    marker = "ImageSets/Main"
    places = (f"VOC{year}", f"VOCdevkit/VOC{year}", f"*/VOCdevkit/VOC{year}")
    another_year = _YEAR.fullmatch(root.resolve().name) and root.resolve().name != f"VOC{year}"
    own = () if another_year else (marker,)
    (main,) = base.require(
        root, {f"VOC{year}/{marker}": (*own, *(f"{place}/{marker}" for place in places))}, page
    )
    devkit = main.parent.parent
    lists = {file: (file,) for file in (f"{marker}/{name}.txt" for name in needed)}
    base.require(devkit, {**lists, "Annotations/*.xml": ("Annotations/*.xml",)}, page)
    return load_labels(devkit, format="voc", options=ReadOptions(difficult=options.difficult))


def _listed(dataset: Dataset, name: str) -> Rows:
    file = dataset.source / "ImageSets" / "Main" / f"{name}.txt"
    images = sorted(f"{line.split()[0]}.jpg" for _, line in text_lines(file))
    unlabeled = [image for image in images if image not in dataset.table.row_of]
    if unlabeled:
        bare = counted(len(unlabeled), "image has", "images have")
        raise TagfillError(f"{bare} no labels: {unlabeled[0]}", file=file)
    return np.array([dataset.table.row_of[image] for image in images], dtype=np.intp)


VOC2012 = base.OfficialSet("PASCAL VOC 2012", _read_2012, uses=("difficult",))
VOC2007 = base.OfficialSet("PASCAL VOC 2007", _read_2007, uses=("difficult",))
