"""CSV in three shapes: one column per class, one row per statement, or lists of tags.

``csv_wide``: one row per image, one column per class, entries 1, 0 or empty, or other ticks.

``csv_long``: ``image,label[,value][,split]``. Value 1 is positive, 0 negative, empty unknown;
without a value column every row is a positive. A row with an image and no label lists the image.

``tag_list``: ``image,tags[,split]`` with the positives of an image in one entry.

In the last two, rows without image above all others list the classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from tagfill.files import write_csv
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._names import SPLIT, free_image_name
from tagfill.labels.formats._plan import LONG, TAG_LIST, WIDE, WIDE_ID
from tagfill.labels.formats._tables import has_shape, header_shape, read_csv
from tagfill.labels.formats._tags import join_tags
from tagfill.labels.formats._ticks import code_of
from tagfill.labels.formats._wide import split_column
from tagfill.labels.formats._write import known_labels, not_held, split_of_rows
from tagfill.labels.formats.base import Format
from tagfill.labels.table import POSITIVE, UNKNOWN, LabelTable

_BLOCK = 4096
_TEXTS = np.array(["0", "1", ""], dtype=object)
"""Texts of the codes 0, 1 and -1, the last by counting from the end."""


def _write_wide(dataset: Dataset, path: Path) -> list[str]:
    table = dataset.table
    names, lost = split_column(dataset)
    if names and not any(code_of(name) is None for name in names):
        names, lost = [], [*lost, "splits are not written: names such as 1 and 0 look like labels"]
    header = [free_image_name(table.classes), *table.classes] + ([SPLIT] if names else [])
    if header_shape(header) != WIDE:
        header[0] = WIDE_ID
    write_csv(path, header, _wide_rows(table, names))
    return lost + not_held(dataset)


def _wide_rows(table: LabelTable, splits: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(table), _BLOCK):
        texts = _TEXTS[table.values[start : start + _BLOCK]].tolist()
        for row, entries in enumerate(texts, start):
            yield [table.images[row], *entries, *splits[row : row + 1]]


def _write_rows(dataset: Dataset, path: Path, *, header: list[str]) -> list[str]:
    """Write statements or lists of tags, with the split of each row's image."""
    names, lost = split_of_rows(dataset)
    splits = [[name] if dataset.splits else [] for name in (*names, "")]
    rows = _statements(dataset.table) if "value" in header else _tag_lists(dataset.table)
    header = header + ([SPLIT] if dataset.splits else [])
    write_csv(path, header, ([*fields, *splits[row]] for row, *fields in rows))
    return lost + not_held(dataset)


def _statements(table: LabelTable) -> Iterator[tuple[int, str, str, str]]:
    for name in table.classes:
        yield -1, "", name, ""
    for row, image in enumerate(table.images):
        known = np.flatnonzero(table.values[row] != UNKNOWN)
        if not len(known):
            yield row, image, "", ""
        for column in known:
            value = "1" if table.values[row, column] == POSITIVE else "0"
            yield row, image, table.classes[column], value


def _tag_lists(table: LabelTable) -> Iterator[tuple[int, str, str]]:
    yield -1, "", join_tags(table.classes)
    for row, image in enumerate(table.images):
        yield row, image, join_tags(known_labels(table, row, POSITIVE))


FORMATS = (
    Format(
        name=WIDE,
        title="CSV, one column per class: 1, 0 or empty",
        detect=partial(has_shape, shape=WIDE),
        read=partial(read_csv, shape=WIDE),
        write=_write_wide,
    ),
    Format(
        name=LONG,
        title="CSV, one row per statement: image,label[,value]",
        detect=partial(has_shape, shape=LONG),
        read=partial(read_csv, shape=LONG),
        write=partial(_write_rows, header=["image", "label", "value"]),
        default_absent="unknown",
    ),
    Format(
        name=TAG_LIST,
        title='CSV of tag lists: image,"a;b;c"',
        detect=partial(has_shape, shape=TAG_LIST),
        read=partial(read_csv, shape=TAG_LIST),
        write=partial(_write_rows, header=["image", "tags"]),
        default_absent="unknown",
        holds_negatives=False,
    ),
)
