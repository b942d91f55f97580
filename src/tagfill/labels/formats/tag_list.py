r"""Tag list: a CSV ``image,tags[,split]`` with the positives of an image in one entry.

Tags are separated by ``;``, ``|`` or ``,``; a backslash before one of these (or before a backslash)
makes it part of the tag. Rows with tags and no image, above all others, list the classes.
"""

from __future__ import annotations

from pathlib import Path

from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._escape import CsvWriter
from tagfill.labels.formats._names import SPLIT
from tagfill.labels.formats._plan import TAG_LIST
from tagfill.labels.formats._tables import csv_shape, read_csv
from tagfill.labels.formats._tags import join_tags
from tagfill.labels.formats._write import known_labels, not_held, positives_only, split_of_rows
from tagfill.labels.formats.base import Format
from tagfill.labels.table import POSITIVE


def _detect(path: Path) -> bool:
    return csv_shape(path) == TAG_LIST


def _write(dataset: Dataset, path: Path) -> list[str]:
    table = dataset.table
    names, lost = split_of_rows(dataset)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = CsvWriter(file)
        writer.row(["image", "tags"] + ([SPLIT] if dataset.splits else []))
        writer.row(["", join_tags(table.classes)] + [""] * bool(dataset.splits))
        for row, image in enumerate(table.images):
            split = [names[row]] if dataset.splits else []
            writer.row([image, join_tags(known_labels(table, row, POSITIVE)), *split])
    return lost + positives_only(table) + not_held(dataset)


FORMAT = Format(
    name=TAG_LIST,
    title='CSV of tag lists: image,"a;b;c"',
    detect=_detect,
    read=read_csv(TAG_LIST),
    write=_write,
    default_absent="unknown",
)
