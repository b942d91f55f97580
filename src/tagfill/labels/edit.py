"""Write changed labels into a copy of the user's file: columns, order and everything else stay.

Only entries whose label changed are rewritten, in the words the file itself uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tagfill.errors import TagfillError
from tagfill.labels.beside import write_rejections, write_reviewed
from tagfill.labels.cleanup import canonical_names
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats import ReadOptions, formats
from tagfill.labels.formats._ids import clean_ids
from tagfill.labels.formats.base import Edit, Source
from tagfill.labels.table import LabelTable


def editable(dataset: Dataset, out: Path, to: str | None) -> bool:
    """Whether changed labels can be written in the shape of the file they come from."""
    known = formats().get(dataset.format)
    if known is None or known.edit is None or not dataset.source.is_file():
        return False
    if dataset.format == "spreadsheet":
        return to is None and out.suffix.lower() in ("", ".csv")
    same = out.suffix.lower() in ("", dataset.source.suffix.lower())
    return to == dataset.format or (to is None and same)


def save_changes(before: Dataset, after: LabelTable, out: Path, options: ReadOptions) -> None:
    """Write a copy of the file that ``before`` was read from, with the labels that changed.

    Negatives that the file cannot hold go to the rejections beside the copy.

    Raises:
        TagfillError: the file is of a format that cannot be edited.
    """
    known = formats()[before.format]
    if known.edit is None or not before.source.is_file():
        raise TagfillError(f"{before.format} cannot be edited in place", file=before.source)
    changes: dict[str, dict[str, int]] = {}
    for row, column in np.argwhere(before.table.values != after.values).tolist():
        labels = changes.setdefault(after.images[row], {})
        labels[after.classes[column]] = int(after.values[row, column])
    source = Source(before.source, known, options)

    def ids_of(names: Sequence[str]) -> list[str]:
        """The image ids that names in the file were read as."""
        for root in (options.image_root, before.image_root):
            ids, _ = clean_ids(names, [None] * len(names), source, root)
            if changes.keys() <= set(ids):
                return ids
        raise edit.refusal(f"image {min(changes.keys() - set(ids))!r} has no row of its own")

    edit = Edit(source, changes, ids_of, canonical_names(before.table.classes, options))
    holds = known.edit(edit, out)
    if not holds or options.zeros == "unknown":
        write_rejections(after, out)
    write_reviewed(after, out)
