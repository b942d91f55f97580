"""Score files of any model: CSV or parquet by image id, or a plain matrix."""

from __future__ import annotations

import posixpath
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tagfill.array_files import read_array, read_parquet
from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import Scores
from tagfill.labels.table import LabelTable, Rows

if TYPE_CHECKING:
    import pyarrow as pa

IMAGE = "image"


@dataclass(frozen=True, eq=False)
class ScoreFile:
    """Scores in the order of a label table.

    Args:
        notes: what was in the file but not used.
    """

    scores: Scores
    notes: tuple[str, ...] = ()


def load_scores(path: str | Path, table: LabelTable) -> ScoreFile:
    """Read scores and bring them into the order of the labels.

    Args:
        path: ``.csv`` or ``.parquet`` with a column ``image`` (else the first) and one column for
            each class, or ``.npy`` with the rows and columns of the labels.
        table: the images and classes that must be there. Others in the file are noted, not used.

    Raises:
        TagfillError: an image or class is missing, an image appears twice, a score is not a number,
            or the shape does not fit.
    """
    source = Path(path)
    if not source.is_file():
        raise TagfillError("no such score file", file=source)
    readers = {".csv": _read_csv, ".parquet": _read_parquet, ".npy": _read_matrix}
    reader = readers.get(source.suffix.lower())
    if reader is None:
        raise TagfillError(
            "unknown kind of score file", file=source, remedy=f"use {', '.join(readers)}"
        )
    return reader(source, table)


def _read_matrix(path: Path, table: LabelTable) -> ScoreFile:
    scores = read_array(path)
    expected = table.values.shape
    if scores.shape != expected or scores.dtype.kind not in "fiub":
        raise TagfillError(
            f"holds {scores.dtype} of shape {scores.shape}, the labels need numbers of shape"
            f" {expected}",
            file=path,
            remedy="give one row per image and one column per class in the order of the labels,"
            " or a CSV with image ids",
        )
    matrix = scores if scores.dtype.kind == "f" else scores.astype(np.float64)
    _refuse_gaps(matrix, path, table, None)
    return ScoreFile(matrix)


def _read_csv(path: Path, table: LabelTable) -> ScoreFile:
    import pyarrow as pa
    from pyarrow import csv

    try:
        header = csv.open_csv(path).schema.names
        types = dict.fromkeys(table.classes, pa.float64()) | {_image_column(header): pa.string()}
        content = csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=types))
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise TagfillError(str(error), file=path) from error
    return _aligned(content, path, table, header_lines=1)


def _read_parquet(path: Path, table: LabelTable) -> ScoreFile:
    return _aligned(read_parquet(path), path, table, header_lines=0)


def _image_column(header: Sequence[str]) -> str:
    return IMAGE if IMAGE in header else header[0]


def _aligned(content: pa.Table, path: Path, table: LabelTable, *, header_lines: int) -> ScoreFile:
    column = _image_column(content.column_names)
    for name in (column, *table.classes):
        if content.column_names.count(name) > 1:
            raise TagfillError(f"column {name!r} appears twice in the header", file=path)
    _refuse_missing("classes", table.classes, set(content.column_names) - {column}, path)
    ids = [_plain(value) for value in content.column(column).to_pylist()]
    row_of = {image: row for row, image in enumerate(ids)}
    if len(row_of) < len(ids):
        row = next(row for row, image in enumerate(ids) if row_of[image] != row)
        raise TagfillError(
            f"image {ids[row]!r} appears twice", file=path, row=row_of[ids[row]] + 1 + header_lines
        )
    _refuse_missing("images", table.images, row_of.keys(), path)
    rows = np.array([row_of[image] for image in table.images], dtype=np.intp)
    scores = np.column_stack([_numbers(content, name, path)[rows] for name in table.classes])
    _refuse_gaps(scores, path, table, rows + 1 + header_lines)
    unused = len(ids) - len(rows), content.num_columns - 1 - len(table.classes)
    notes = [
        f"{kind} of {path.name} that are not in the labels, not used: {number:,}"
        for number, kind in zip(unused, ("images", "columns"), strict=True)
        if number
    ]
    return ScoreFile(scores, tuple(notes))


def _plain(image: object) -> str:
    text = "" if image is None else str(image)
    return posixpath.normpath(text.replace("\\", "/"))


def _numbers(content: pa.Table, name: str, path: Path) -> Scores:
    values: Scores = content.column(name).to_numpy()
    if values.dtype.kind not in "fiub":
        raise TagfillError(f"the scores of class {name!r} are not numbers", file=path)
    return values.astype(np.float64)


def _refuse_missing(kind: str, names: Sequence[str], scored: Container[str], path: Path) -> None:
    missing = [name for name in names if name not in scored]
    if missing:
        shown = ", ".join(repr(name) for name in missing[:5])
        more = ", ..." if len(missing) > 5 else ""
        raise TagfillError(
            f"{len(missing)} of {len(names)} {kind} of the labels have no scores: {shown}{more}",
            file=path,
        )


def _refuse_gaps(scores: Scores, path: Path, table: LabelTable, rows: Rows | None) -> None:
    gaps = np.argwhere(~np.isfinite(scores))
    if len(gaps):
        image, column = gaps[0]
        raise TagfillError(
            f"{len(gaps)} scores are empty or not finite, first: image {table.images[image]!r},"
            f" class {table.classes[column]!r}",
            file=path,
            row=int(image if rows is None else rows[image]),
        )
