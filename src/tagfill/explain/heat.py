"""Heat maps as arrays: resizing, and the position of the maximum."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image

Heat = npt.NDArray[np.float32]
"""[H, W] evidence for a tag at every position."""
_FINER = 8
"""How many times finer than its cells the maximum of a map is looked for."""


def enlarge(heat: Heat, width: int, height: int) -> Heat:
    """A heat map at another size, smoothly."""
    picture = Image.fromarray(np.asarray(heat, dtype=np.float32))
    return np.asarray(picture.resize((width, height), Image.Resampling.BICUBIC))


def peak(heat: Heat) -> tuple[float, float]:
    """Where a heat map is highest: (x, y) in fractions of width and height."""
    rows, columns = heat.shape
    fine = enlarge(heat, columns * _FINER, rows * _FINER)
    row, column = np.unravel_index(int(fine.argmax()), fine.shape)
    return (float(column) + 0.5) / fine.shape[1], (float(row) + 0.5) / fine.shape[0]
