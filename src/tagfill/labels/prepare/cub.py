"""CUB-200-2011, 312 attributes: the official training images divided 80/20, the official test set.

Images are in the order of ``images.txt``; attributes are taken as stated, whatever the annotator's
certainty, as in the single-positive papers (Cole et al. 2021).
"""

from __future__ import annotations

from pathlib import Path

from tagfill.labels.io import load_labels
from tagfill.labels.prepare.base import (
    PUBLISHED,
    Options,
    Prepared,
    Source,
    arranged,
    require,
)

_PAGE = "the project page of CUB-200-2011 (Caltech-UCSD Birds): CUB_200_2011.tgz"
_LABELS = "attributes/image_attribute_labels.txt"
_ATTRIBUTES = ("attributes/attributes.txt", "attributes.txt", "../attributes.txt")


def _read(root: Path, options: Options) -> Prepared:
    places = (_LABELS, f"CUB_200_2011/{_LABELS}", f"*/CUB_200_2011/{_LABELS}")
    (labels,) = require(root, {f"CUB_200_2011/{_LABELS}": places}, _PAGE)
    home = labels.parent.parent
    require(home, {file: (file,) for file in ("images.txt", "train_test_split.txt")}, _PAGE)
    if not any((home / file).is_file() for file in _ATTRIBUTES):
        require(home, {"attributes.txt": ()}, f"{_PAGE} (it lies beside the folder)")
    dataset = load_labels(home, format="cub")
    for part in ("train", "test"):
        dataset.part(part)
    expected = {"train": 4795, "val": 1199, "test": 5794}
    return Prepared(
        arranged(dataset, dataset.splits["train"], dataset.splits["test"], val=options.val),
        split=PUBLISHED,
        expected=expected if options.val else {"train": 5994, "test": 5794},
    )


CUB = Source("CUB-200-2011 attributes", _read)
