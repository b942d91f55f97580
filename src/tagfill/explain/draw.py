"""Heat maps: their highest place, and their pictures over an image and on sheets of many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tagfill.arrays import Numbers
from tagfill.errors import TagfillError

if TYPE_CHECKING:
    from tagfill.explain.maps import Explanation

Heat = Numbers
"""[H, W] evidence for a tag at every position."""
_FINER = 8
"""How many times finer than its cells the maximum of a map is looked for."""
STOPS = ((13, 8, 60), (84, 15, 109), (187, 55, 84), (249, 142, 9), (252, 255, 164))
"""Colors from cold to hot, of evenly rising lightness."""
STRONGEST = 0.75
"""Opacity of the color where a map is hottest."""
TILE, GAP, CAPTION, MARGIN = 224, 14, 44, 22
Color = tuple[int, int, int]
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
INK, FAINT, BAR, PAPER = (30, 34, 42), (112, 118, 130), (214, 84, 60), (255, 255, 255)


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


@dataclass(frozen=True, eq=False)
class Seen:
    tag: str
    probability: float
    heat: Heat


def tag_columns(classes: Sequence[str], tags: Iterable[str]) -> list[int]:
    """The columns of tags; one that the model does not know is an error."""
    columns = []
    for tag in tags:
        if tag not in classes:
            raise TagfillError(
                f"the model has no tag {tag!r}", remedy=f"tags: {', '.join(classes)}"
            )
        columns.append(classes.index(tag))
    return columns


def seen_tags(
    classes: Sequence[str], explained: Explanation, columns: Sequence[int] | None, top: int
) -> list[Seen]:
    """The chosen tags of an image, by default the ``top`` most probable ones."""
    chances = explained.probabilities
    if columns is None:
        columns = (-chances).argsort(kind="stable")[:top].tolist()
    return [Seen(classes[k], float(chances[k]), explained.heat[k]) for k in columns]


def overlay(image: Image.Image, heat: Heat) -> Image.Image:
    """The image in muted colors, warmer and more opaque where the evidence is.

    The map is stretched to its own range: it shows where a tag is seen, not how surely.
    """
    strength = _stretched(enlarge(heat, *image.size))[..., None]
    gray = np.asarray(image.convert("L").convert("RGB"), dtype=np.float32)
    muted = 0.55 * np.asarray(image, dtype=np.float32) + 0.45 * gray
    opacity = STRONGEST * strength**0.8
    mixed = (1 - opacity) * muted + opacity * _colors(strength[..., 0])
    return Image.fromarray(np.rint(mixed).astype(np.uint8))


def sheet(rows: Sequence[tuple[str, Image.Image, Sequence[Seen]]]) -> Image.Image:
    """Images one below the other, each with the heat maps of its tags beside it."""
    columns = 1 + max((len(tags) for _, _, tags in rows), default=0)
    width = 2 * MARGIN + columns * TILE + (columns - 1) * GAP
    tiles = [_fitted(picture) for _, picture, _ in rows]
    heights = [tile.height + CAPTION for tile in tiles]
    page = Image.new("RGB", (width, 2 * MARGIN + sum(heights) + GAP * (len(rows) - 1)), PAPER)
    top = MARGIN
    for (name, _, tags), tile, height in zip(rows, tiles, heights, strict=True):
        _place(page, MARGIN, top, tile, name, None)
        for number, seen in enumerate(tags, 1):
            left = MARGIN + number * (TILE + GAP)
            _place(page, left, top, overlay(tile, seen.heat), seen.tag, seen.probability)
        top += height + GAP
    return page


def _place(
    page: Image.Image, left: int, top: int, tile: Image.Image, text: str, chance: float | None
) -> None:
    page.paste(tile, (left, top))
    draw = ImageDraw.Draw(page)
    line = top + tile.height + 8
    if chance is None:
        _write(draw, left, line, _cut(text, TILE, 14), 14, FAINT)
        return
    shown = f"{chance:.0%}"
    room = TILE - _font(15).getlength(shown) - 10
    _write(draw, left, line, _cut(text, room, 15), 15, INK)
    draw.text((left + TILE, line), shown, fill=FAINT, font=_font(15), anchor="ra")
    under = line + 22
    draw.rounded_rectangle((left, under, left + TILE - 1, under + 4), 2, fill=(232, 234, 238))
    filled = round(chance * (TILE - 1))
    if filled >= 4:
        draw.rounded_rectangle((left, under, left + filled, under + 4), 2, fill=BAR)


def _fitted(picture: Image.Image) -> Image.Image:
    """As wide as a tile; very tall pictures are squashed."""
    height = min(max(1, round(picture.height * TILE / picture.width)), 3 * TILE)
    return picture.resize((TILE, height), Image.Resampling.LANCZOS)


def _write(
    draw: ImageDraw.ImageDraw, left: float, top: float, text: str, size: int, ink: Color
) -> None:
    for piece, font in _pieces(text, size):
        draw.text((left, top + size), piece, fill=ink, font=font, anchor="ls")
        left += font.getlength(piece)


def _pieces(text: str, size: int) -> list[tuple[str, Font]]:
    """The text split into pieces, each with a font that has its letters."""
    if text.removeprefix("…").isascii():
        return [(text, _font(size))]
    from tagfill.explain.fonts import font_file

    return [("".join(letters), _opened(file, size)) for file, letters in groupby(text, font_file)]


def _width(text: str, size: int) -> float:
    return sum(font.getlength(piece) for piece, font in _pieces(text, size))


def _font(size: int) -> Font:
    return ImageFont.load_default(size)


@cache
def _opened(file: str, size: int) -> Font:
    return ImageFont.truetype(file, size, index=getattr(file, "face_index", 0))


def _cut(text: str, width: float, size: int) -> str:
    """The text, or as much of its end as fits."""
    if _width(text, size) <= width:
        return text
    while text and _width("…" + text, size) > width:
        text = text[1:]
    return "…" + text


def _stretched(heat: Heat) -> Heat:
    """The map from 0, its median, to 1, its highest value."""
    low, high = float(np.median(heat)), float(heat.max())
    if high <= low:
        return np.zeros_like(heat)
    return np.asarray(np.clip((heat - low) / (high - low), 0.0, 1.0))


def _colors(strength: Heat) -> Heat:
    places = np.linspace(0, 1, len(STOPS))
    channels = [np.interp(strength, places, channel) for channel in zip(*STOPS, strict=True)]
    return np.stack(channels, axis=-1).astype(np.float32)
