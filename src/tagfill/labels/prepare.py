"""The official data sets of the papers, in the published order and split.

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

To add one, write its reader and name it in ``SOURCES``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import numpy as np

from tagfill.errors import LabelError, TagfillError, counted, enumerated
from tagfill.labels.dataset import Boxes, Dataset
from tagfill.labels.formats import Difficult, ReadOptions
from tagfill.labels.formats._text import text_lines
from tagfill.labels.formats.nuswide import CONCEPTS, GROUND_TRUTH
from tagfill.labels.io import load_labels
from tagfill.labels.split import published_split
from tagfill.labels.table import POSITIVE, LabelTable, Rows

PUBLISHED, OURS, DIFFERS = "published", "ours", "differs"
"""Splits: as published, our own, or the published rule with other image counts."""


@dataclass(frozen=True)
class Options:
    """Options of the user.

    Args:
        keep_empty: COCO: keep images without an object, the larger of the two published sizes.
        val: Hold out the published fifth of the training images for validation.
        published_split: NUS-WIDE: folder with the published split (formatted_*.npy).
        difficult: How to count VOC objects marked "difficult".
    """

    keep_empty: bool = False
    val: bool = True
    published_split: Path | None = None
    difficult: Difficult = "negative"


@dataclass(frozen=True, eq=False)
class Prepared:
    """An official data set in the published order.

    Args:
        dataset: full labels; the training images in their published order, then the test images.
        rule: by whose rule the images are divided, ``PUBLISHED`` or ``OURS``.
        expected: images of each part in the papers, where they say.
        notes: what a user should know about order, split and labels.
    """

    dataset: Dataset
    rule: str
    expected: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def sizes(self) -> dict[str, int]:
        return {name: len(rows) for name, rows in self.dataset.splits.items()}

    @property
    def split(self) -> str:
        """``OURS``, ``PUBLISHED``, or ``DIFFERS`` where sizes are not those of the papers."""
        same = self.rule == OURS or self.sizes == dict(self.expected)
        return self.rule if same else DIFFERS

    @property
    def as_published(self) -> bool:
        """Whether split and sizes are those of the papers."""
        return self.split == PUBLISHED


@dataclass(frozen=True)
class OfficialSet:
    """One official data set.

    Args:
        title: its name for people.
        read: how its download becomes a table.
        uses: the options it understands besides ``val``.
    """

    title: str
    read: Callable[[Path, Options], Prepared]
    uses: tuple[str, ...] = ()


def prepare(name: str, root: str | Path, options: Options | None = None) -> Prepared:
    """Read the official download of a data set.

    Args:
        name: one of ``SOURCES``.
        root: where it was unpacked, with or without the outer folder of the archive.
        options: see ``Options``.

    Raises:
        TagfillError: the name is unknown, or a file is missing; the message says where to get it.
    """
    if name not in SOURCES:
        raise TagfillError(f"unknown data set {name!r}", remedy=f"use one of {', '.join(SOURCES)}")
    folder = Path(root)
    if not folder.is_dir():
        raise TagfillError("no such folder", file=folder)
    chosen = options or Options()
    for option in fields(chosen):
        given = getattr(chosen, option.name) != option.default
        if given and option.name not in ("val", *SOURCES[name].uses):
            raise TagfillError(f"{name} has no option --{option.name.replace('_', '-')}")
    try:
        return SOURCES[name].read(folder, chosen)
    except LabelError:
        raise
    except TagfillError as error:  # official files that cannot be read were damaged on the way
        remedy = error.remedy or "download or unpack it again"
        raise TagfillError(error.message, file=error.file, row=error.row, remedy=remedy) from None


def _read_voc2012(root: Path, options: Options) -> Prepared:
    dataset, train, test = _devkit(root, "2012", ("train", "val"), options)
    note = "test is the official validation set: labels of the official test set are secret"
    return _prepared(dataset, train, test, options, (4574, 1143, 5823), [note])


def _read_voc2007(root: Path, options: Options) -> Prepared:
    dataset, train, test = _devkit(root, "2007", ("trainval", "test"), options)
    return _prepared(dataset, train, test, options, (5011, 0, 4952), papers="papers on VOC 2007")


_VOC_FILES = {
    "2012": "VOCtrainval_11-May-2012.tar",
    "2007": "VOCtrainval_06-Nov-2007.tar and VOCtest_06-Nov-2007.tar, unpacked in one folder",
}


def _devkit(
    root: Path, year: str, lists: tuple[str, str], options: Options
) -> tuple[Dataset, Rows, Rows]:
    """All labeled images of a year's devkit, anywhere below ``root``, and those of two lists."""
    challenge = f"The PASCAL Visual Object Classes Challenge {year}"
    page = f"the PASCAL VOC project page ({challenge}): {_VOC_FILES[year]}"
    marker, here = "ImageSets/Main", root.resolve().name
    another_year = re.fullmatch(r"VOC\d{4}", here) and here != f"VOC{year}"
    places = [f"{top}VOC{year}/{marker}" for top in ("", "VOCdevkit/", "*/VOCdevkit/")]
    places = places if another_year else [marker, *places]
    (main,) = _require(root, {f"VOC{year}/{marker}": places}, page)
    devkit = main.parent.parent
    files = [f"{marker}/{name}.txt" for name in lists]
    _require(devkit, {file: (file,) for file in (*files, "Annotations/*.xml")}, page)
    read = ReadOptions(difficult=options.difficult)
    dataset = load_labels(devkit, format="voc", options=read)
    train, test = (_listed(dataset, main / f"{name}.txt") for name in lists)
    return dataset, train, test


def _listed(dataset: Dataset, file: Path) -> Rows:
    images = sorted(f"{line.split()[0]}.jpg" for _, line in text_lines(file))
    unlabeled = [image for image in images if image not in dataset.table.row_of]
    if unlabeled:
        count = counted(len(unlabeled), "image has", "images have")
        raise TagfillError(f"{count} no labels: {unlabeled[0]}", file=file)
    return np.array([dataset.table.row_of[image] for image in images], dtype=np.intp)


def _read_coco(root: Path, options: Options) -> Prepared:
    page = "the COCO project page (Common Objects in Context, Download)"
    files = [f"instances_{name}.json" for name in ("train2014", "val2014")]
    places = ("", "annotations/", "*/", "*/annotations/")
    needed = {f"annotations/{file}": [place + file for place in places] for file in files}
    paths = _require(root, needed, f"{page}: 2014 Train/Val annotations")
    train, test = (_instances(file, options) for file in paths)
    above = (train.source.parent, train.source.parent.parent)
    folders = (place for home in above for place in (home, home / "images"))
    images = next((place for place in folders if (place / "train2014").is_dir()), None)
    both = replace(_joined(train, test), image_root=images)
    rows, count = np.arange(len(both.table)), len(train.table)
    sizes, notes = (82783, 0, 40504), []
    if not options.keep_empty:
        sizes = (65665, 16416, 40137)
        notes = ["images without an object are left out (--keep-empty)"]
    papers = "papers that keep empty images"
    return _prepared(both, rows[:count], rows[count:], options, sizes, notes, papers)


def _instances(file: Path, options: Options) -> Dataset:
    """One instances file in the published order, image ids below the folder of all images."""
    folder = file.stem.removeprefix("instances_")
    dataset = load_labels(file, format="coco")
    number_of: dict[int, str] = {}
    for row, image in enumerate(dataset.table.images):
        if options.keep_empty or (dataset.table.values[row] == POSITIVE).any():
            number = re.search(r"(\d+)\.\w+$", image)
            if number is None:
                misnamed = f"file name {image!r} does not end in the image's number"
                raise TagfillError(misnamed, file=file)
            number_of[row] = str(int(number[1]))
    order = np.array(sorted(number_of, key=number_of.__getitem__), dtype=np.intp)
    ordered = _arranged(dataset, order, order[:0], val=False)
    images = tuple(f"{folder}/{image}" for image in ordered.table.images)
    return replace(ordered, table=replace(ordered.table, images=images))


_NUS_ARRAYS = tuple(
    f"formatted_{part}_{kind}.npy" for part in ("train", "val") for kind in ("images", "labels")
)
_NUS_PARTS = (*("Concepts81.txt", "ConceptsList", "ImageList"), *GROUND_TRUTH, "TrainTestLabels")
_NUS_CONCEPTS, _NAMED = 81, 3
"""Concepts of the data set; most missing class files to name."""


def _read_nuswide(root: Path, options: Options) -> Prepared:
    folders = ("Flickr", "images", "Images")
    images = _first(root, (*folders, *(f"*/{name}" for name in folders)))
    if options.published_split is None and not any((root / file).is_file() for file in _NUS_ARRAYS):
        dataset = replace(load_labels(_complete_nuswide(root), format="nuswide"), image_root=images)
        train, test, sizes = dataset.splits["train"], dataset.splits["test"], None
        files = "the published split exists only as files (--published-split FOLDER)"
        notes = [f"{files}; this one is our own", *_without_concept(dataset)]
    else:
        folder = options.published_split or root
        authors = "'Multi-Label Learning from Single Positive Labels' (Cole et al. 2021)"
        _require(folder, {file: (file,) for file in _NUS_ARRAYS}, f"the authors of {authors}")
        read = load_labels(folder, format="mlspl")
        dataset = replace(read, table=read.truth or read.table, features={}, image_root=images)
        test, sizes = dataset.splits["test"], (120000, 30000, 60260)
        train = np.arange(len(dataset.table) - len(test))
        naming = next(note for note in dataset.notes if "class names" in note)
        notes = [*_without_concept(dataset), naming]
    return _prepared(dataset, train, test, options, sizes, notes)


def _complete_nuswide(root: Path) -> Path:
    """The folder with most parts of the download; none of them may be missing."""
    below = sorted(part for part in root.iterdir() if part.is_dir() and part.name not in _NUS_PARTS)
    home = max([root, *below], key=lambda top: sum((top / part).exists() for part in _NUS_PARTS))
    lists = [f"ImageList/{part}Imagelist.txt" for part in ("Train", "Test")]
    needed = {CONCEPTS[-1]: CONCEPTS, **{file: (file,) for file in lists}}
    missing = {name: 1 for name, places in needed.items() if _first(home, places) is None}
    tops = ("", *(f"{top}/" for top in GROUND_TRUTH))
    folder, concepts = _first(home, [f"{t}TrainTestLabels" for t in tops]), _first(home, CONCEPTS)
    present = set() if folder is None else {file.name for file in folder.glob("Labels_*.txt")}
    names = [] if concepts is None else [line.strip() for _, line in text_lines(concepts)]
    wanted = [f"Labels_{name}_{part}.txt" for name in names for part in ("Train", "Test")]
    absent = [file for file in wanted if file not in present]
    total = len(wanted) or 2 * _NUS_CONCEPTS
    count = len(absent) if wanted else max(0, total - len(present))
    if count:
        more = ", ..." if count > _NAMED else ""
        examples = f" ({', '.join(absent[:_NAMED])}{more})" if absent else ""
        place = f"{GROUND_TRUTH[0]}/TrainTestLabels"
        missing[f"{count} of {total} class files in {place}{examples}"] = count
    page = "the NUS-WIDE project page (NUS Lab for Media Search)"
    _refuse_missing(missing, home, f"{page}: Groundtruth, ImageList, ConceptsList")
    return home


def _without_concept(dataset: Dataset) -> list[str]:
    count = int((dataset.table.values != POSITIVE).all(axis=1).sum())
    images = counted(count, "image shows", "images show")
    note = f"{images} none of the concepts: there is no positive to be observed"
    return [note] if count else []


def _read_cub(root: Path, options: Options) -> Prepared:
    page = "the project page of CUB-200-2011 (Caltech-UCSD Birds): CUB_200_2011.tgz"
    file = "attributes/image_attribute_labels.txt"
    places = [f"{top}{file}" for top in ("", "CUB_200_2011/", "*/CUB_200_2011/")]
    (labels,) = _require(root, {f"CUB_200_2011/{file}": places}, page)
    home = labels.parent.parent
    attributes = [f"{top}attributes.txt" for top in ("attributes/", "", "../")]
    files = {name: (name,) for name in ("images.txt", "train_test_split.txt")}
    beside = f"{page} (attributes.txt lies beside the folder)"
    _require(home, {**files, "attributes.txt": attributes}, beside)
    dataset = load_labels(home, format="cub")
    train, test = (dataset.splits.get(part, np.arange(0)) for part in ("train", "test"))
    if not len(train) or not len(test):
        listed = f"training images (1): {len(train):,}, test images (0): {len(test):,}"
        divided = home / "train_test_split.txt"
        raise TagfillError(f"{listed}; expected are 5,994 and 5,794", file=divided)
    return _prepared(dataset, train, test, options, (4795, 1199, 5794))


SOURCES = {
    "voc2012": OfficialSet("PASCAL VOC 2012", _read_voc2012, uses=("difficult",)),
    "voc2007": OfficialSet("PASCAL VOC 2007", _read_voc2007, uses=("difficult",)),
    "coco2014": OfficialSet("COCO 2014", _read_coco, uses=("keep_empty",)),
    "nuswide": OfficialSet("NUS-WIDE", _read_nuswide, uses=("published_split",)),
    "cub": OfficialSet("CUB-200-2011 attributes", _read_cub),
}


def _prepared(
    dataset: Dataset,
    train: Rows,
    test: Rows,
    options: Options,
    sizes: tuple[int, int, int] | None,
    notes: Iterable[str] = (),
    papers: str = "",
) -> Prepared:
    """A data set arranged as the options say.

    Args:
        train: rows of the official training images in their published order.
        test: rows of the test images.
        sizes: published numbers of training, validation and test images; ``None`` if the split is
            not published.
        papers: those that hold out no validation images, where there are such.
    """
    divided = _arranged(dataset, train, test, val=options.val)
    fitted, held_out, tested = sizes or (0, 0, 0)
    if sizes is None or (options.val and not held_out):
        drawn = "validation images are drawn by the rule of the single-positive papers"
        choice = f"{papers} have none and choose the epoch on the test set (--no-val)"
        return Prepared(divided, OURS, {}, (*notes, *([f"{drawn}; {choice}"] if papers else [])))
    expected = {"train": fitted, "val": held_out, "test": tested}
    if not options.val:
        expected = {"train": fitted + held_out, "test": tested}
    return Prepared(divided, PUBLISHED, expected, tuple(notes))


def _arranged(dataset: Dataset, train: Rows, test: Rows, *, val: bool) -> Dataset:
    """Training images, then test images, in the given orders, with the published 80/20 split."""
    order = np.concatenate([train, test])
    splits = {"train": np.arange(len(train))}
    if val:
        splits["train"], splits["val"] = published_split(len(train))
    splits["test"] = np.arange(len(train), len(order))
    boxes = None if dataset.boxes is None else dataset.boxes.take(order, len(dataset.table))
    table = dataset.table.take(order)
    return replace(dataset, table=table, truth=None, splits=splits, boxes=boxes)


def _joined(one: Dataset, other: Dataset) -> Dataset:
    """The images of two data sets of the same classes, one after the other."""
    if one.table.classes != other.table.classes:
        raise TagfillError(f"the classes differ from those of {one.source.name}", file=other.source)
    images = one.table.images + other.table.images
    values = np.concatenate([one.table.values, other.table.values])
    boxes = None
    if one.boxes is not None and other.boxes is not None:
        boxes = Boxes(
            np.concatenate([one.boxes.image, other.boxes.image + len(one.table)]),
            np.concatenate([one.boxes.label, other.boxes.label]),
            np.concatenate([one.boxes.xywh, other.boxes.xywh]),
        )
    table = LabelTable(images, one.table.classes, values)
    return replace(one, table=table, boxes=boxes, splits={})


def _first(root: Path, patterns: Iterable[str]) -> Path | None:
    """The first file or folder that a pattern below ``root`` finds."""
    return next((file for pattern in patterns for file in sorted(root.glob(pattern))), None)


def _require(root: Path, needed: Mapping[str, Iterable[str]], page: str) -> list[Path]:
    """The needed files and folders below ``root``: patterns by the name a user knows each by.

    Raises:
        TagfillError: names all that are missing, and the page where people get them.
    """
    files = {name: _first(root, patterns) for name, patterns in needed.items()}
    _refuse_missing({name: 1 for name, path in files.items() if path is None}, root, page)
    return [path for path in files.values() if path is not None]


def _refuse_missing(missing: Mapping[str, int], root: Path, page: str) -> None:
    """Raise where something is missing: how many files each of the things is."""
    if missing:
        verb, pronoun = ("is", "it") if sum(missing.values()) == 1 else ("are", "them")
        names = enumerated(list(missing))
        raise TagfillError(
            f"{names} {verb} missing", file=root, remedy=f"get {pronoun} from {page}"
        )
