"""Small pictures embedded in the page."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from tagfill.errors import TagfillError
from tagfill.explain.draw import overlay
from tagfill.explain.maps import explain_images
from tagfill.images import open_image
from tagfill.models.bundle import Bundle

SIDE, QUALITY = 232, 72
_BATCH = 16


@dataclass(frozen=True)
class Shown:
    """A picture, and where the model sees one tag in it, as data URIs; both of one size."""

    picture: str
    heat: str
    width: int
    height: int


def show(bundle: Bundle, wanted: Iterable[tuple[Path, int]]) -> dict[tuple[Path, int], Shown]:
    """Thumbnails with heat maps.

    Args:
        wanted: image file and number of the class; files that can no longer be read are left out.
    """
    columns: dict[Path, list[int]] = {}
    for path, column in wanted:
        columns.setdefault(path, []).append(column)
    pictures: dict[tuple[Path, int], Shown] = {}
    paths = list(columns)
    for start in range(0, len(paths), _BATCH):  # a few at a time, to limit memory
        opened = dict(_opened(paths[start : start + _BATCH], bundle.network.backbone.spec.size))
        explained = explain_images(bundle, opened.values())
        for (path, picture), explanation in zip(opened.items(), explained, strict=True):
            small = picture.copy()
            small.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
            uri = data_uri(small)
            for column in columns[path]:
                heat = data_uri(overlay(small, explanation.heat[column]))
                pictures[path, column] = Shown(uri, heat, *small.size)
    return pictures


def _opened(paths: Iterable[Path], size: int) -> Iterator[tuple[Path, Image.Image]]:
    for path in paths:
        try:
            yield path, open_image(path, max(size, SIDE))
        except TagfillError:
            continue


def data_uri(picture: Image.Image) -> str:
    """A JPEG as text."""
    buffer = io.BytesIO()
    picture.convert("RGB").save(buffer, "JPEG", quality=QUALITY, optimize=True)
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"
