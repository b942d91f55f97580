"""CUB-200-2011, 312 attributes: the official training images divided 80/20, the official test set.

Images are in the order of ``images.txt``; attributes are taken as stated, whatever the annotator's
certainty, as in the single-positive papers (Cole et al. 2021).
"""

from __future__ import annotations

from pathlib import Path

from tagfill.errors import TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.io import load_labels
from tagfill.labels.prepare import base

_PAGE = "the project page of CUB-200-2011 (Caltech-UCSD Birds): CUB_200_2011.tgz"
_LABELS = "attributes/image_attribute_labels.txt"
OFFICIAL = {"train": 5994, "test": 5794}
_ATTRIBUTES = ("attributes/attributes.txt", "attributes.txt", "../attributes.txt")


def _read(root: Path, options: base.Options) -> base.Prepared:
    places = (_LABELS, f"CUB_200_2011/{_LABELS}", f"*/CUB_200_2011/{_LABELS}")
    (labels,) = base.require(root, {f"CUB_200_2011/{_LABELS}": places}, _PAGE)
    home = labels.parent.parent
    files = ("images.txt", "train_test_split.txt")
    needed = {**{file: (file,) for file in files}, "attributes.txt": _ATTRIBUTES}
    base.require(home, needed, f"{_PAGE} (attributes.txt lies beside the folder)")
    dataset = load_labels(home, format="cub")
    _check_parts(dataset, home / "train_test_split.txt")
    expected = {"train": 4795, "val": 1199, "test": 5794}
    return base.Prepared(
        base.arranged(dataset, dataset.splits["train"], dataset.splits["test"], val=options.val),
        rule=base.PUBLISHED,
        expected=expected if options.val else OFFICIAL,
    )


def _check_parts(dataset: Dataset, file: Path) -> None:
    """Refuse a list without training or without test images."""
    counts = {part: len(dataset.splits.get(part, ())) for part in OFFICIAL}
    if all(counts.values()):
        return
    listed = f"training images (1): {counts['train']:,}, test images (0): {counts['test']:,}"
    official = " and ".join(f"{count:,}" for count in OFFICIAL.values())
    raise TagfillError(f"{listed}; expected are {official}", file=file)


CUB = base.OfficialSet("CUB-200-2011 attributes", _read)
