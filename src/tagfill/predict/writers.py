"""Predictions as a readable table, JSON, JSON lines, CSV or parquet; written as they come."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, TextIO

from tagfill.console import json_text, printable
from tagfill.errors import TagfillError
from tagfill.files import atomic_open, guarded
from tagfill.models.tagging import Prediction
from tagfill.predict.sources import Unreadable

OutputFormat = Literal["table", "json", "jsonl", "csv", "parquet"]
BY_SUFFIX: dict[str, OutputFormat] = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".txt": "table",
}
IMAGE, TAGS = "image", "tags"
_ROWS = 1024
"""Rows of parquet written at once."""


class Writer(Protocol):
    """Takes predictions one by one."""

    def write(self, prediction: Prediction) -> None: ...

    def close(self, unreadable: Sequence[Unreadable]) -> None:
        """Write the end of the file; nothing by default."""
        return


class TableWriter(Writer):
    """One line per image: its name, and its tags with their probabilities."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.width = stream, 0

    def write(self, prediction: Prediction) -> None:
        """The column of names grows with the longest so far."""
        self.width = max(self.width, len(prediction.image))
        tags = ", ".join(f"{name} {value:.2f}" for name, value in prediction.tags.items())
        line = printable(f"{prediction.image:<{self.width}}  {tags or '-'}")
        print(line.replace("\n", "\\n"), file=self.stream)


class JsonLinesWriter(Writer):
    """``{"image": ..., "tags": {name: probability}}`` per line."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, prediction: Prediction) -> None:
        self.stream.write(json_text(_record(prediction)) + "\n")


class JsonWriter(Writer):
    """One object: the model, all predictions, and unreadable files."""

    def __init__(self, stream: TextIO, model: str) -> None:
        self.stream, self.images = stream, 0
        stream.write(f'{{"model": {json_text(model)}, "predictions": [')

    def write(self, prediction: Prediction) -> None:
        self.stream.write(",\n" if self.images else "\n")
        self.stream.write(json_text(_record(prediction)))
        self.images += 1

    def close(self, unreadable: Sequence[Unreadable]) -> None:
        rest = json_text([vars(item) for item in unreadable])
        self.stream.write(f'\n], "images": {self.images}, "unreadable": {rest}}}\n')


class CsvWriter(Writer):
    """Columns image, tags (separated by ``;``), and the probability of every class."""

    def __init__(self, stream: TextIO, classes: Sequence[str]) -> None:
        _refuse_clash(classes)
        self.rows = csv.writer(stream, lineterminator="\n")
        self.rows.writerow(guarded([IMAGE, TAGS, *classes]))

    def write(self, prediction: Prediction) -> None:
        numbers = (f"{value:.6g}" for value in prediction.probabilities)
        self.rows.writerow(guarded([prediction.image, ";".join(prediction.tags), *numbers]))


class ParquetWriter(Writer):
    """The columns of CSV; tags as a list."""

    def __init__(self, stream: BinaryIO, classes: Sequence[str]) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        _refuse_clash(classes)
        columns = [(IMAGE, pa.string()), (TAGS, pa.list_(pa.string()))]
        self.schema = pa.schema([*columns, *((name, pa.float32()) for name in classes)])
        self.file = parquet.ParquetWriter(stream, self.schema)
        self.classes, self.waiting = classes, list[Prediction]()

    def write(self, prediction: Prediction) -> None:
        """Buffered until a row group is full."""
        self.waiting.append(prediction)
        if len(self.waiting) >= _ROWS:
            self._flush()

    def close(self, unreadable: Sequence[Unreadable]) -> None:
        self._flush()
        self.file.close()

    def _flush(self) -> None:
        import pyarrow as pa

        if not self.waiting:
            return
        columns: list[Any] = [
            [prediction.image for prediction in self.waiting],
            [list(prediction.tags) for prediction in self.waiting],
        ]
        columns += zip(*(row.probabilities.tolist() for row in self.waiting), strict=True)
        arrays = [
            pa.array(column, type=field.type)
            for column, field in zip(columns, self.schema, strict=True)
        ]
        self.file.write_table(pa.Table.from_arrays(arrays, schema=self.schema))
        self.waiting = []


@contextmanager
def open_writer(
    target: Path | TextIO, format: OutputFormat, classes: Sequence[str], model: str
) -> Iterator[Writer]:
    """A writer to a file, or to an open stream of text.

    Raises:
        TagfillError: the file cannot be written, or the format cannot go to a stream.
    """
    if format == "parquet":
        if not isinstance(target, Path):
            raise TagfillError("parquet is not text", remedy="name a file with --out")
        with atomic_open(target, "wb") as binary:
            yield ParquetWriter(binary, classes)
        return
    with (
        atomic_open(target, newline="") if isinstance(target, Path) else nullcontext(target) as text
    ):
        if format == "json":
            yield JsonWriter(text, model)
        elif format == "csv":
            yield CsvWriter(text, classes)
        else:
            yield JsonLinesWriter(text) if format == "jsonl" else TableWriter(text)


def _record(prediction: Prediction) -> dict[str, Any]:
    return {IMAGE: prediction.image, TAGS: prediction.tags}


def _refuse_clash(classes: Sequence[str]) -> None:
    for name in (IMAGE, TAGS):
        if name in classes:
            raise TagfillError(
                f"a class is called {name!r}, like a column of this format",
                remedy="use json or jsonl",
            )
