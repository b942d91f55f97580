"""CUB-200-2011 attributes: 312 attributes of each bird, with the annotator's certainty.

Wah et al. 2011. Labels are taken as stated, whatever their certainty, as the published protocols
do; ``ReadOptions.min_certainty`` makes the less certain ones unknown.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from tagfill.arrays import Integers
from tagfill.errors import TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._entries import Entries
from tagfill.labels.formats._text import text_lines
from tagfill.labels.formats._wide import wide_dataset
from tagfill.labels.formats.base import Format, Source
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Rows

_LABELS = "attributes/image_attribute_labels.txt"
_NOT_VISIBLE = 1
_MOST_DIGITS = 9


def _home(path: Path) -> Path | None:
    homes = (path, path / "CUB_200_2011")
    return next((home for home in homes if (home / _LABELS).is_file()), None)


def _read(source: Source) -> Dataset:
    home = _home(source.path)
    if home is None:
        raise source.refusal(f"it has no {_LABELS}")
    source, least = replace(source, path=home), source.options.min_certainty
    images = _numbered(home / "images.txt")
    places = (home / "attributes" / "attributes.txt", home / "attributes.txt")
    beside = home.parent / "attributes.txt"
    attributes = _numbered(next((file for file in places if file.is_file()), beside))
    image, attribute, present, certainty = _statements(home / _LABELS).T
    sure = certainty >= least
    values = np.full((len(images), len(attributes)), UNKNOWN, dtype=np.int8)
    rows = _positions(images, image, home / _LABELS, "image")
    columns = _positions(attributes, attribute, home / _LABELS, "attribute")
    values[rows[sure], columns[sure]] = present[sure]
    divided = home / "train_test_split.txt"
    training = _numbered(divided) if divided.is_file() else {}
    names = {"1": "train", "0": "test"}
    splits = [names.get(training.get(number, ""), "") for number in images if training]
    entries = Entries(list(images.values()), range(1, len(images) + 1), splits, values)
    dataset = wide_dataset(source, tuple(attributes.values()), entries)
    hidden = int(np.count_nonzero(certainty == _NOT_VISIBLE))
    note = f"{hidden} labels of invisible parts are kept as stated"
    if not sure.all():
        note = f"{int((~sure).sum())} labels of certainty below {least} are unknown"
    root = source.options.image_root or home / "images"
    return replace(dataset, notes=(*dataset.notes, note), image_root=root)


def _numbered(file: Path) -> dict[int, str]:
    if not file.is_file():
        raise TagfillError("the file is missing", file=file)
    names: dict[int, str] = {}
    for row, line in text_lines(file):
        number, _, name = line.strip().partition(" ")
        if not number.isdecimal() or len(number) > _MOST_DIGITS or not name:
            raise TagfillError("expected a number and a name", file=file, row=row)
        names[int(number)] = name
    return names


def _statements(file: Path) -> Integers:
    """[lines, 4] of image, attribute, present, certainty; some lines have extra fields."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = np.loadtxt(file, dtype=np.int64, usecols=(0, 1, 2, 3), ndmin=2)
    except (ValueError, OverflowError, IndexError, UserWarning) as error:
        raise TagfillError(f"not a list of attribute labels ({error})", file=file) from None
    bad = np.flatnonzero((table[:, 2] != POSITIVE) & (table[:, 2] != NEGATIVE))
    if len(bad):
        raise TagfillError(
            f"{table[bad[0], 2]} is not 1 (present) or 0", file=file, row=int(bad[0]) + 1
        )
    return table


def _positions(names: dict[int, str], numbers: Rows, file: Path, kind: str) -> Rows:
    listed = np.array(list(names), dtype=np.int64)
    order = np.argsort(listed)
    place = np.minimum(np.searchsorted(listed, numbers, sorter=order), max(len(listed) - 1, 0))
    missing = (
        np.flatnonzero(listed[order][place] != numbers) if len(listed) else [0][: len(numbers)]
    )
    if len(missing):
        raise TagfillError(
            f"{kind} {numbers[missing[0]]} is not listed", file=file, row=int(missing[0]) + 1
        )
    return order[place]


FORMAT = Format(
    "cub",
    "CUB-200-2011 attributes folder",
    lambda path: _home(path) is not None,
    _read,
    default_absent=None,
)
