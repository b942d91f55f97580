"""COCO 2014, from the instances files: training images divided 80/20, validation images as test.

Two sizes are published: without the images that have no object (single-positive papers, ASL) and
with them (Query2Label, PU-MLC). Images are ordered as the single-positive code does: by their ids,
compared as text.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from tagfill.errors import TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.io import load_labels
from tagfill.labels.prepare import base
from tagfill.labels.table import POSITIVE, Rows

_PAGE = "the COCO project page (Common Objects in Context, Download): 2014 Train/Val annotations"
_FILES = {name: f"instances_{name}.json" for name in ("train2014", "val2014")}
_NUMBER = re.compile(r"(\d+)\.\w+$")


def _read(root: Path, options: base.Options) -> base.Prepared:
    files = base.require(
        root, {f"annotations/{file}": _places(file) for file in _FILES.values()}, _PAGE
    )
    train, test = (_part(file, name, options) for name, file in zip(_FILES, files, strict=True))
    both = base.joined(train, test)
    both = replace(both, image_root=_image_root(train.source))
    notes = [] if options.keep_empty else ["images without an object are left out (--keep-empty)"]
    if options.keep_empty and options.val:
        notes.append(
            "validation images are drawn by the rule of the single-positive papers; papers that"
            " keep empty images have none and choose the epoch on the test set (--no-val)"
        )
    rows = np.arange(len(both.table))
    return base.Prepared(
        base.arranged(both, rows[: len(train.table)], rows[len(train.table) :], val=options.val),
        rule=base.OURS if options.keep_empty and options.val else base.PUBLISHED,
        expected=_expected(options),
        notes=tuple(notes),
    )


def _expected(options: base.Options) -> dict[str, int]:
    if options.keep_empty:
        return {} if options.val else {"train": 82783, "test": 40504}
    if options.val:
        return {"train": 65665, "val": 16416, "test": 40137}
    return {"train": 82081, "test": 40137}


def _places(file: str) -> tuple[str, ...]:
    return (file, f"annotations/{file}", f"*/{file}", f"*/annotations/{file}")


def _part(file: Path, name: str, options: base.Options) -> Dataset:
    """One instances file in the published order, image ids below the folder of all images."""
    dataset = load_labels(file, format="coco")
    kept = (dataset.table.values == POSITIVE).any(axis=1) | options.keep_empty
    rows: Rows = np.flatnonzero(kept)
    ids = [_id(dataset.table.images[row], file) for row in rows]
    order = rows[sorted(range(len(rows)), key=ids.__getitem__)]
    ordered = base.arranged(dataset, order, order[:0], val=False)
    images = tuple(f"{name}/{image}" for image in ordered.table.images)
    return replace(ordered, table=replace(ordered.table, images=images))


def _id(image: str, file: Path) -> str:
    """The image's number without leading zeros, as text."""
    number = _NUMBER.search(image)
    if number is None:
        raise TagfillError(f"file name {image!r} does not end in the image's number", file=file)
    return str(int(number[1]))


def _image_root(annotations: Path) -> Path | None:
    """The folder in which ``train2014`` lies."""
    homes = (annotations.parent, annotations.parent.parent)
    places = [place for home in homes for place in (home, home / "images")]
    return next((place for place in places if (place / "train2014").is_dir()), None)


COCO2014 = base.OfficialSet("COCO 2014", _read, uses=("keep_empty",))
