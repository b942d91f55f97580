"""Long CSV: one row a statement, ``image,label[,value][,split]``.

Value 1 is positive, 0 negative, empty unknown; without a value column every row is a positive. A
row with an image and no label lists the image; rows with a label and no image, above all others,
list the classes.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tagfill.errors import Problems
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._cells import CODES
from tagfill.labels.formats._fields import named_records
from tagfill.labels.formats._gather import Gather
from tagfill.labels.formats._text import LABEL_NAMES, SPLIT, csv_kind
from tagfill.labels.formats._write import not_held, split_of_rows
from tagfill.labels.formats.base import Format, ReadOptions
from tagfill.labels.table import POSITIVE, UNKNOWN, LabelTable


def _detect(path: Path) -> bool:
    return csv_kind(path) == FORMAT.name


def _read(path: Path, options: ReadOptions, problems: Problems) -> Dataset:
    gather = Gather(path, options, problems, FORMAT.default_absent)
    record_of: dict[str, int] = {}
    for row, image, fields in named_records(path, LABEL_NAMES, problems):
        name, text = fields[LABEL_NAMES[0]], fields.get("value", "1").strip()
        label = gather.label(name, row) if name.strip() else None
        if not image and not record_of and label is not None and not fields.get("value"):
            continue
        if image not in record_of:
            record_of[image] = gather.record(image, row)
        gather.split(record_of[image], fields.get(SPLIT, ""), row)
        if text not in CODES:
            problems.error(
                f"value {text!r} is not 1, 0 or empty",
                file=path,
                row=row,
                remedy="1 is positive, 0 negative, an empty value unknown",
            )
        elif not name.strip() and text and "value" in fields:
            problems.error(f"value {text!r} without a label", file=path, row=row)
        gather.mark(record_of[image], label, CODES.get(text, UNKNOWN), row)
    return gather.dataset(FORMAT.name)


def _write(dataset: Dataset, path: Path) -> list[str]:
    table = dataset.table
    names, lost = split_of_rows(dataset)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["image", "label", "value"] + ([SPLIT] if dataset.splits else []))
        for image, label, value, row in _statements(table):
            split = [] if not dataset.splits else [names[row] if row >= 0 else ""]
            writer.writerow([image, label, value, *split])
    return lost + not_held(dataset)


def _statements(table: LabelTable) -> Iterator[tuple[str, str, str, int]]:
    for name in table.classes:
        yield "", name, "", -1
    for row, image in enumerate(table.images):
        known = np.flatnonzero(table.values[row] != UNKNOWN)
        if not len(known):
            yield image, "", "", row
        for column in known:
            value = "1" if table.values[row, column] == POSITIVE else "0"
            yield image, table.classes[column], value, row


FORMAT = Format(
    name="csv_long",
    title="CSV, one row a statement: image,label[,value]",
    detect=_detect,
    read=_read,
    write=_write,
    default_absent="unknown",
)
