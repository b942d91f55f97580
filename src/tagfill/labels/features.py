"""Feature files: matrices [N, D] of numbers, one row per image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tagfill.array_files import read_array
from tagfill.errors import TagfillError

Features = npt.NDArray[np.floating]
LARGEST = 1e18
"""Squares of larger numbers do not fit into single precision."""


def load_features(files: Sequence[Path], images: Sequence[str]) -> Features:
    """The rows of some .npy files, one file after the other, for the images in order.

    Raises:
        TagfillError: a file is no matrix of usual numbers, or the rows are not those of the
            images.
    """
    matrices = [_matrix(file) for file in files]
    widths = {matrix.shape[1] for matrix in matrices}
    if len(widths) > 1:
        listed = " and ".join(str(matrix.shape[1]) for matrix in matrices)
        raise TagfillError(f"the files have {listed} features per image", file=files[-1])
    whole: Features = matrices[0] if len(matrices) == 1 else np.concatenate(matrices)
    if len(whole) != len(images):
        raise TagfillError(
            f"there are {len(whole):,} rows of features for {len(images):,} images",
            file=files[0],
            remedy="give one row per image, in the order of the labels",
        )
    high, low = (part.astype(np.float64) for part in (whole.max(axis=1), whole.min(axis=1)))
    bad = ~(high < LARGEST) | ~(low > -LARGEST)  # NaN is neither
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        ends = np.cumsum([len(matrix) for matrix in matrices])
        number = int(np.searchsorted(ends, first, side="right"))
        raise TagfillError(
            f"{int(bad.sum()):,} rows of features hold NaN, infinity or numbers beyond"
            f" {LARGEST:g}, first: {images[first]!r}",
            file=files[number],
            row=first - int(ends[number]) + len(matrices[number]),
            remedy="compute them again, or leave these images out",
        )
    return whole


def _matrix(file: Path) -> Features:
    matrix = read_array(file)
    if matrix.dtype.kind not in "fiu":
        raise TagfillError("does not hold an array of numbers", file=file)
    if matrix.ndim != 2 or not matrix.shape[1]:
        raise TagfillError(
            f"features of shape {matrix.shape} are not a matrix [images, features]", file=file
        )
    return matrix
