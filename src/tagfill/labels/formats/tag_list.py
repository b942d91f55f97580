r"""Tag list: a CSV ``image,tags[,split]`` with the positives of an image in one entry.

Tags are separated by ``;``, ``|`` or ``,``; a backslash before one of these (or before a backslash)
makes it part of the tag. Rows with tags and no image, above all others, list the classes.
"""

from __future__ import annotations

from pathlib import Path

from tagfill.files import write_csv
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._names import SPLIT
from tagfill.labels.formats._plan import TAG_LIST
from tagfill.labels.formats._tables import csv_shape, read_csv
from tagfill.labels.formats._tags import join_tags
from tagfill.labels.formats._write import known_labels, not_held, split_of_rows
from tagfill.labels.formats.base import Format
from tagfill.labels.table import POSITIVE


def _detect(path: Path) -> bool:
    return csv_shape(path) == TAG_LIST


def _write(dataset: Dataset, path: Path) -> list[str]:
    table = dataset.table
    names, lost = split_of_rows(dataset)
    splits = [[name] if dataset.splits else [] for name in (*names, "")]
    rows = [["", join_tags(table.classes), *splits[-1]]]
    rows += [
        [image, join_tags(known_labels(table, row, POSITIVE)), *splits[row]]
        for row, image in enumerate(table.images)
    ]
    write_csv(path, ["image", "tags"] + ([SPLIT] if dataset.splits else []), rows)
    return lost + not_held(dataset)


FORMAT = Format(
    name=TAG_LIST,
    title='CSV of tag lists: image,"a;b;c"',
    detect=_detect,
    read=read_csv(TAG_LIST),
    write=_write,
    default_absent="unknown",
    holds_negatives=False,
)
