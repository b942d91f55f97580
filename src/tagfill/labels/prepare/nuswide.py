"""NUS-WIDE, 81 concepts: the published split from its files, otherwise our own split.

The single-positive papers (Cole et al. 2021) crawled the images again and divided them again. Their
split exists only as files, ``formatted_{train,val}_{images,labels}.npy``. Without them the official
training list is divided 80/20 by the same rule and the official test list is the test set: not the
papers' numbers of images.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tagfill.errors import counted
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._text import text_lines
from tagfill.labels.io import load_labels
from tagfill.labels.prepare import base
from tagfill.labels.table import POSITIVE

_PAGE = "the NUS-WIDE project page (NUS Lab for Media Search): Groundtruth, ImageList, ConceptsList"
_AUTHORS = "the authors of 'Multi-Label Learning from Single Positive Labels' (Cole et al. 2021)"
_ARRAYS = tuple(
    f"formatted_{part}_{kind}.npy" for part in ("train", "val") for kind in ("images", "labels")
)
_CONCEPTS = ("Concepts81.txt", "ConceptsList/Concepts81.txt")
_LABEL_FOLDERS = tuple(f"{top}TrainTestLabels" for top in ("", "Groundtruth/", "GroundTruth/"))
_LISTS = ("Concepts81.txt", "ConceptsList", "ImageList")
_PARTS = (*_LISTS, "Groundtruth", "GroundTruth", "TrainTestLabels")
CONCEPTS, NAMED = 81, 3
"""Concepts of the data set; most missing class files to name."""
_IMAGE_FOLDERS = ("Flickr", "images", "Images")


def _read(root: Path, options: base.Options) -> base.Prepared:
    folder = options.published_split or root
    if options.published_split is not None or any((root / file).is_file() for file in _ARRAYS):
        return _published(folder, root, options)
    return _official(root, options)


def _published(folder: Path, root: Path, options: base.Options) -> base.Prepared:
    base.require(folder, {file: (file,) for file in _ARRAYS}, _AUTHORS)
    dataset = load_labels(folder, format="mlspl")
    full = replace(dataset, table=dataset.truth or dataset.table, features={})
    test = full.splits["test"]
    train = np.arange(len(full.table) - len(test))
    expected = {"train": 120000, "val": 30000, "test": 60260}
    return base.Prepared(
        base.arranged(replace(full, image_root=_images(root)), train, test, val=options.val),
        rule=base.PUBLISHED,
        expected=expected if options.val else {"train": 150000, "test": 60260},
        notes=(*_bare(full), next(note for note in dataset.notes if "class names" in note)),
    )


def _official(root: Path, options: base.Options) -> base.Prepared:
    home = _home(root)
    base.refuse_missing({**_missing_lists(home), **_missing_labels(home)}, home, _PAGE)
    dataset = load_labels(home, format="nuswide")
    splits = dataset.splits
    note = (
        "the published split exists only as files (--published-split FOLDER); this one is our own"
    )
    return base.Prepared(
        base.arranged(
            replace(dataset, image_root=_images(root)),
            splits["train"],
            splits["test"],
            val=options.val,
        ),
        rule=base.OURS,
        notes=(note, *_bare(dataset)),
    )


def _home(root: Path) -> Path:
    """``root`` or the folder in it with most parts of the download."""
    below = sorted(part for part in root.iterdir() if part.is_dir() and part.name not in _PARTS)
    return max([root, *below], key=lambda home: sum((home / part).exists() for part in _PARTS))


def _missing_lists(home: Path) -> dict[str, int]:
    lists = [f"ImageList/{part}Imagelist.txt" for part in ("Train", "Test")]
    needed = {_CONCEPTS[-1]: _CONCEPTS, **{file: (file,) for file in lists}}
    return {name: 1 for name, places in needed.items() if base.first(home, places) is None}


def _missing_labels(home: Path) -> dict[str, int]:
    """A description of the missing class files, and their number."""
    folder, concepts = base.first(home, _LABEL_FOLDERS), base.first(home, _CONCEPTS)
    present = set() if folder is None else {file.name for file in folder.glob("Labels_*.txt")}
    names = [] if concepts is None else [line.strip() for _, line in text_lines(concepts)]
    wanted = [f"Labels_{name}_{part}.txt" for name in names for part in ("Train", "Test")]
    absent = [file for file in wanted if file not in present]
    total = len(wanted) or 2 * CONCEPTS
    count = len(absent) if wanted else max(0, total - len(present))
    if not count:
        return {}
    more = ", ..." if count > NAMED else ""
    examples = f" ({', '.join(absent[:NAMED])}{more})" if absent else ""
    return {f"{count} of {total} class files in {_LABEL_FOLDERS[1]}{examples}": count}


def _images(root: Path) -> Path | None:
    return base.first(root, (*_IMAGE_FOLDERS, *(f"*/{name}" for name in _IMAGE_FOLDERS)))


def _bare(dataset: Dataset) -> list[str]:
    count = int((dataset.table.values != POSITIVE).all(axis=1).sum())
    bare = counted(count, "image shows", "images show")
    note = f"{bare} none of the concepts: there is no positive to be observed"
    return [note] if count else []


NUSWIDE = base.OfficialSet("NUS-WIDE", _read, uses=("published_split",))
