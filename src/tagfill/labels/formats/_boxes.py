"""Object boxes in pixels, gathered while a source is read, as fractions of their images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagfill.labels.dataset import Boxes
from tagfill.labels.table import Rows


class BoxList:
    """Collects boxes; those without area or image size are counted and left out."""

    def __init__(self) -> None:
        self._owners: list[tuple[int, int]] = []
        self._pixels: list[tuple[float, ...]] = []
        self._left_out = 0

    def add(
        self, record: int, label: int | None, corners: Sequence[float], size: Sequence[float]
    ) -> None:
        """Add a box.

        Args:
            record: record of its image.
            label: its class; a refused one (``None``) is passed over.
            corners: left, top, right, bottom in pixels.
            size: width and height of the image in pixels.
        """
        left, top, right, bottom = corners
        if label is None:
            return
        if not (min(size) > 0 and right > left and bottom > top):
            self._left_out += 1
            return
        self._owners.append((record, label))
        self._pixels.append((*corners, *size))

    @property
    def notes(self) -> list[str]:
        """What was left out."""
        if not self._left_out:
            return []
        return [f"{self._left_out} boxes without area or without image size were left out"]

    def boxes(self, place: Rows) -> Boxes | None:
        """All boxes, cut at the image's edges.

        Args:
            place: the table row of every record.
        """
        if not self._owners:
            return None
        record, label = np.array(self._owners, dtype=np.intp).T
        pixels = np.array(self._pixels, dtype=np.float64)
        corners = np.clip(pixels[:, :4] / np.tile(pixels[:, 4:], 2), 0.0, 1.0)
        xywh = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)
        return Boxes(image=place[record], label=label, xywh=xywh)
