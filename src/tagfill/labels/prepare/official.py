"""How the official downloads of the papers' data sets become tables.

PASCAL VOC: of 2012 the official training images are divided 80/20 and the official validation
images are the test set, as in the single-positive papers; of 2007 as in the partial-label papers:
the official trainval and test images. Images are ordered by file name.

COCO 2014, from the instances files: training images divided 80/20, validation images as test. Two
sizes are published: without the images that have no object (single-positive papers, ASL) and with
them (Query2Label, PU-MLC). Images are ordered as the single-positive code does: by their ids,
compared as text.

NUS-WIDE, 81 concepts: the single-positive papers (Cole et al. 2021) crawled the images again and
divided them again. Their split exists only as files, ``formatted_{train,val}_{images,labels}.npy``.
Without them the official training list is divided 80/20 by the same rule and the official test list
is the test set: not the papers' numbers of images.

CUB-200-2011, 312 attributes: the official training images divided 80/20, the official test set.
Images are in the order of ``images.txt``; attributes are taken as stated, whatever the annotator's
certainty, as in the single-positive papers.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from tagfill.errors import TagfillError, counted
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats import ReadOptions
from tagfill.labels.formats._text import text_lines
from tagfill.labels.io import load_labels
from tagfill.labels.prepare.base import (
    OURS,
    PUBLISHED,
    OfficialSet,
    Options,
    Prepared,
    arranged,
    first,
    joined,
    prepared,
    refuse_missing,
    require,
)
from tagfill.labels.table import POSITIVE, Rows

_VOC_PAGE = (
    "the PASCAL VOC project page (The PASCAL Visual Object Classes Challenge {year}): {files}"
)
_VOC_YEAR = re.compile(r"VOC\d{4}")
_VOC_FILES = {
    "2012": "VOCtrainval_11-May-2012.tar",
    "2007": "VOCtrainval_06-Nov-2007.tar and VOCtest_06-Nov-2007.tar, unpacked in one folder",
}


def _read_voc2012(root: Path, options: Options) -> Prepared:
    dataset = _devkit(root, "2012", ("train", "val"), options)
    train, test = (_listed(dataset, name) for name in ("train", "val"))
    sizes = {"train": 5717, "test": 5823}
    if options.val:
        sizes = {"train": 4574, "val": 1143, "test": 5823}
    note = "test is the official validation set: labels of the official test set are secret"
    return prepared(dataset, train, test, options, PUBLISHED, sizes, [note])


def _read_voc2007(root: Path, options: Options) -> Prepared:
    dataset = _devkit(root, "2007", ("trainval", "test"), options)
    train, test = (_listed(dataset, name) for name in ("trainval", "test"))
    if not options.val:
        sizes = {"train": 5011, "test": 4952}
        return prepared(dataset, train, test, options, PUBLISHED, sizes)
    held_out = "validation images are drawn by the rule of the single-positive papers; papers on"
    note = f"{held_out} VOC 2007 have none and choose the epoch on the test set (--no-val)"
    return prepared(dataset, train, test, options, OURS, notes=[note])


def _devkit(root: Path, year: str, needed: tuple[str, ...], options: Options) -> Dataset:
    """All labeled images of a year's devkit, anywhere below ``root``."""
    page = _VOC_PAGE.format(year=year, files=_VOC_FILES[year])
    marker = "ImageSets/Main"
    places = (f"VOC{year}", f"VOCdevkit/VOC{year}", f"*/VOCdevkit/VOC{year}")
    another_year = _VOC_YEAR.fullmatch(root.resolve().name) and root.resolve().name != f"VOC{year}"
    own = () if another_year else (marker,)
    (main,) = require(
        root, {f"VOC{year}/{marker}": (*own, *(f"{place}/{marker}" for place in places))}, page
    )
    devkit = main.parent.parent
    lists = {file: (file,) for file in (f"{marker}/{name}.txt" for name in needed)}
    require(devkit, {**lists, "Annotations/*.xml": ("Annotations/*.xml",)}, page)
    return load_labels(devkit, format="voc", options=ReadOptions(difficult=options.difficult))


def _listed(dataset: Dataset, name: str) -> Rows:
    file = dataset.source / "ImageSets" / "Main" / f"{name}.txt"
    images = sorted(f"{line.split()[0]}.jpg" for _, line in text_lines(file))
    unlabeled = [image for image in images if image not in dataset.table.row_of]
    if unlabeled:
        count = counted(len(unlabeled), "image has", "images have")
        raise TagfillError(f"{count} no labels: {unlabeled[0]}", file=file)
    return np.array([dataset.table.row_of[image] for image in images], dtype=np.intp)


VOC2012 = OfficialSet("PASCAL VOC 2012", _read_voc2012, uses=("difficult",))
VOC2007 = OfficialSet("PASCAL VOC 2007", _read_voc2007, uses=("difficult",))

_COCO_PAGE = (
    "the COCO project page (Common Objects in Context, Download): 2014 Train/Val annotations"
)
_COCO_FILES = {name: f"instances_{name}.json" for name in ("train2014", "val2014")}
_COCO_NUMBER = re.compile(r"(\d+)\.\w+$")


def _read_coco(root: Path, options: Options) -> Prepared:
    needed = {
        f"annotations/{file}": (file, f"annotations/{file}", f"*/{file}", f"*/annotations/{file}")
        for file in _COCO_FILES.values()
    }
    files = require(root, needed, _COCO_PAGE)
    train, test = (
        _instances(file, name, options) for name, file in zip(_COCO_FILES, files, strict=True)
    )
    both = joined(train, test)
    both = replace(both, image_root=_coco_images(train.source))
    notes = [] if options.keep_empty else ["images without an object are left out (--keep-empty)"]
    if options.keep_empty and options.val:
        notes.append(
            "validation images are drawn by the rule of the single-positive papers; papers that"
            " keep empty images have none and choose the epoch on the test set (--no-val)"
        )
    rows, count = np.arange(len(both.table)), len(train.table)
    published = {"train": 82081, "test": 40137}
    if options.keep_empty:
        published = {"train": 82783, "test": 40504}
    if options.val:
        published = {} if options.keep_empty else {"train": 65665, "val": 16416, "test": 40137}
    rule = PUBLISHED if published else OURS
    return prepared(both, rows[:count], rows[count:], options, rule, published, notes)


def _instances(file: Path, name: str, options: Options) -> Dataset:
    """One instances file in the published order, image ids below the folder of all images."""
    dataset = load_labels(file, format="coco")
    kept = (dataset.table.values == POSITIVE).any(axis=1) | options.keep_empty
    rows: Rows = np.flatnonzero(kept)
    ids = [_coco_id(dataset.table.images[row], file) for row in rows]
    order = rows[sorted(range(len(rows)), key=ids.__getitem__)]
    ordered = arranged(dataset, order, order[:0], val=False)
    images = tuple(f"{name}/{image}" for image in ordered.table.images)
    return replace(ordered, table=replace(ordered.table, images=images))


def _coco_id(image: str, file: Path) -> str:
    """The image's number without leading zeros, as text."""
    number = _COCO_NUMBER.search(image)
    if number is None:
        raise TagfillError(f"file name {image!r} does not end in the image's number", file=file)
    return str(int(number[1]))


def _coco_images(annotations: Path) -> Path | None:
    """The folder in which ``train2014`` lies."""
    homes = (annotations.parent, annotations.parent.parent)
    places = [place for home in homes for place in (home, home / "images")]
    return next((place for place in places if (place / "train2014").is_dir()), None)


COCO2014 = OfficialSet("COCO 2014", _read_coco, uses=("keep_empty",))

_NUS_PAGE = (
    "the NUS-WIDE project page (NUS Lab for Media Search): Groundtruth, ImageList, ConceptsList"
)
_NUS_AUTHORS = (
    "the authors of 'Multi-Label Learning from Single Positive Labels' (Cole et al. 2021)"
)
_NUS_ARRAYS = tuple(
    f"formatted_{part}_{kind}.npy" for part in ("train", "val") for kind in ("images", "labels")
)
_CONCEPTS = ("Concepts81.txt", "ConceptsList/Concepts81.txt")
_LABEL_FOLDERS = tuple(f"{top}TrainTestLabels" for top in ("", "Groundtruth/", "GroundTruth/"))
_LISTS = ("Concepts81.txt", "ConceptsList", "ImageList")
_PARTS = (*_LISTS, "Groundtruth", "GroundTruth", "TrainTestLabels")
_NUS_CONCEPTS, _NAMED = 81, 3
"""Concepts of the data set; most missing class files to name."""
_IMAGE_FOLDERS = ("Flickr", "images", "Images")


def _read_nuswide(root: Path, options: Options) -> Prepared:
    if options.published_split is None and not any((root / file).is_file() for file in _NUS_ARRAYS):
        return _official_nuswide(root, options)
    folder = options.published_split or root
    require(folder, {file: (file,) for file in _NUS_ARRAYS}, _NUS_AUTHORS)
    dataset = load_labels(folder, format="mlspl")
    table = dataset.truth or dataset.table
    full = replace(dataset, table=table, features={}, image_root=_nuswide_images(root))
    test = full.splits["test"]
    train = np.arange(len(full.table) - len(test))
    sizes = {"train": 150000, "test": 60260}
    if options.val:
        sizes = {"train": 120000, "val": 30000, "test": 60260}
    notes = [*_without_concept(full), next(note for note in dataset.notes if "class names" in note)]
    return prepared(full, train, test, options, PUBLISHED, sizes, notes)


def _official_nuswide(root: Path, options: Options) -> Prepared:
    home = _home(root)
    refuse_missing({**_missing_lists(home), **_missing_labels(home)}, home, _NUS_PAGE)
    dataset = load_labels(home, format="nuswide")
    train, test = dataset.splits["train"], dataset.splits["test"]
    note = (
        "the published split exists only as files (--published-split FOLDER); this one is our own"
    )
    placed = replace(dataset, image_root=_nuswide_images(root))
    return prepared(placed, train, test, options, OURS, notes=[note, *_without_concept(dataset)])


def _home(root: Path) -> Path:
    """``root`` or the folder in it with most parts of the download."""
    below = sorted(part for part in root.iterdir() if part.is_dir() and part.name not in _PARTS)
    return max([root, *below], key=lambda home: sum((home / part).exists() for part in _PARTS))


def _missing_lists(home: Path) -> dict[str, int]:
    lists = [f"ImageList/{part}Imagelist.txt" for part in ("Train", "Test")]
    needed = {_CONCEPTS[-1]: _CONCEPTS, **{file: (file,) for file in lists}}
    return {name: 1 for name, places in needed.items() if first(home, places) is None}


def _missing_labels(home: Path) -> dict[str, int]:
    """A description of the missing class files, and their number."""
    folder, concepts = first(home, _LABEL_FOLDERS), first(home, _CONCEPTS)
    present = set() if folder is None else {file.name for file in folder.glob("Labels_*.txt")}
    names = [] if concepts is None else [line.strip() for _, line in text_lines(concepts)]
    wanted = [f"Labels_{name}_{part}.txt" for name in names for part in ("Train", "Test")]
    absent = [file for file in wanted if file not in present]
    total = len(wanted) or 2 * _NUS_CONCEPTS
    count = len(absent) if wanted else max(0, total - len(present))
    if not count:
        return {}
    more = ", ..." if count > _NAMED else ""
    examples = f" ({', '.join(absent[:_NAMED])}{more})" if absent else ""
    return {f"{count} of {total} class files in {_LABEL_FOLDERS[1]}{examples}": count}


def _nuswide_images(root: Path) -> Path | None:
    return first(root, (*_IMAGE_FOLDERS, *(f"*/{name}" for name in _IMAGE_FOLDERS)))


def _without_concept(dataset: Dataset) -> list[str]:
    count = int((dataset.table.values != POSITIVE).all(axis=1).sum())
    images = counted(count, "image shows", "images show")
    note = f"{images} none of the concepts: there is no positive to be observed"
    return [note] if count else []


NUSWIDE = OfficialSet("NUS-WIDE", _read_nuswide, uses=("published_split",))

_CUB_PAGE = "the project page of CUB-200-2011 (Caltech-UCSD Birds): CUB_200_2011.tgz"
_CUB_LABELS = "attributes/image_attribute_labels.txt"
_CUB_SIZES = {"train": 5994, "test": 5794}
_CUB_ATTRIBUTES = ("attributes/attributes.txt", "attributes.txt", "../attributes.txt")


def _read_cub(root: Path, options: Options) -> Prepared:
    places = (_CUB_LABELS, f"CUB_200_2011/{_CUB_LABELS}", f"*/CUB_200_2011/{_CUB_LABELS}")
    (labels,) = require(root, {f"CUB_200_2011/{_CUB_LABELS}": places}, _CUB_PAGE)
    home = labels.parent.parent
    files = ("images.txt", "train_test_split.txt")
    needed = {**{file: (file,) for file in files}, "attributes.txt": _CUB_ATTRIBUTES}
    require(home, needed, f"{_CUB_PAGE} (attributes.txt lies beside the folder)")
    dataset = load_labels(home, format="cub")
    counts = {part: len(dataset.splits.get(part, ())) for part in _CUB_SIZES}
    if not all(counts.values()):
        listed = f"training images (1): {counts['train']:,}, test images (0): {counts['test']:,}"
        expected = " and ".join(f"{count:,}" for count in _CUB_SIZES.values())
        file = home / "train_test_split.txt"
        raise TagfillError(f"{listed}; expected are {expected}", file=file)
    sizes = {"train": 4795, "val": 1199, "test": 5794} if options.val else _CUB_SIZES
    train, test = dataset.splits["train"], dataset.splits["test"]
    return prepared(dataset, train, test, options, PUBLISHED, sizes)


CUB = OfficialSet("CUB-200-2011 attributes", _read_cub)
