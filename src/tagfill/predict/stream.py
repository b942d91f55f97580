"""Read ahead, predict batch by batch, keep the order and memory bounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from tagfill.array_files import read_array
from tagfill.arrays import Numbers
from tagfill.console import quote_name
from tagfill.errors import TagfillError
from tagfill.images import open_image, read_ahead
from tagfill.models.engines import Engine
from tagfill.models.tagging import Prediction, TagRule, checked_features, pixels
from tagfill.predict.sources import ImageFile, Unreadable
from tagfill.remote import RemoteFile

Input = tuple[str, Numbers]
"""A name, and the input of the model."""

FEATURES = ".npy"


def predict_stream(
    engine: Engine,
    files: Iterable[ImageFile | Unreadable],
    rule: TagRule,
    *,
    batch_size: int = 32,
    workers: int = 2,
) -> Iterator[Prediction | Unreadable]:
    """Predictions in the order of the files, unreadable files included.

    At most a few batches of images are in memory at a time.

    Args:
        files: image files, or ``.npy`` files of features where the model reads those.
    """
    for name, value, most in (("batch size", batch_size, 65_536), ("workers", workers, 1_024)):
        if not 1 <= value <= most:
            raise TagfillError(f"{name} must be at least 1 and at most {most:,}, got {value:,}")
    if engine.metadata.reads == "features":
        inputs = _feature_rows(engine, files)
    else:
        inputs = _read_images(files, engine.metadata.size, workers, 2 * batch_size)
    while chunk := list(islice(inputs, batch_size)):
        yield from _predicted(engine, rule, chunk)


def _predicted(
    engine: Engine, rule: TagRule, chunk: list[Input | Unreadable]
) -> Iterator[Prediction | Unreadable]:
    readable = [item for item in chunk if not isinstance(item, Unreadable)]
    predictions: Iterator[Prediction] = iter(())
    if readable:
        probabilities = engine.probabilities(np.stack([array for _, array in readable]))
        predictions = rule.predictions([name for name, _ in readable], probabilities)
    for item in chunk:
        yield item if isinstance(item, Unreadable) else next(predictions)


def _read_images(
    files: Iterable[ImageFile | Unreadable], size: int, workers: int, ahead: int
) -> Iterator[Input | Unreadable]:
    def read(file: ImageFile | Unreadable) -> Input | Unreadable:
        if isinstance(file, Unreadable):
            return file
        try:  # a remote file is read into memory, not stored
            picture = open_image(file.read(), size) if isinstance(file, RemoteFile) else file
            return quote_name(str(file)), pixels(picture, size)
        except TagfillError as error:
            return Unreadable(quote_name(str(file)), error.message)

    return read_ahead(read, files, workers=workers, ahead=ahead)


def _feature_rows(
    engine: Engine, files: Iterable[ImageFile | Unreadable]
) -> Iterator[Input | Unreadable]:
    for file in files:
        if isinstance(file, Unreadable):
            yield file
            continue
        if isinstance(file, RemoteFile) or file.suffix.lower() != FEATURES:
            raise TagfillError(
                "the model was trained on given features and cannot read images",
                file=str(file),
                remedy=f"give {FEATURES} files of features [images, {engine.metadata.channels}],"
                " or train on images",
            )
        name = quote_name(str(file))
        try:
            matrix = read_array(file, mapped=True)
            checked_features(matrix[:1] if matrix.ndim else matrix, engine.metadata)
        except TagfillError as error:
            yield Unreadable(name, error.message)
            continue
        for row in range(len(matrix)):
            yield _feature_row(f"{name}#{row}", matrix[row])


def _feature_row(name: str, values: Numbers) -> Input | Unreadable:
    with np.errstate(over="ignore"):
        row = np.asarray(values, dtype=np.float32)
    if not np.isfinite(row).all():
        return Unreadable(name, "the features hold NaN, infinity or numbers that are too large")
    return name, row
