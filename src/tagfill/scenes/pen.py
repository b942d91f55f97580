"""Draws in unit coordinates: the same drawing at any size, turn and flip."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from PIL import Image, ImageDraw

from tagfill.scenes.color import Color, Ink, Light, Paint

Point = tuple[float, float]
Points = Sequence[Point]

_STEPS = 6
"""Straight pieces between two control points of a smooth curve."""


class Pen:
    """A drawing surface with its own coordinates.

    Args:
        image: RGBa picture drawn on; ink is opaque, so premultiplied and plain colors agree.
        matrix: two rows, from drawing units to pixels.
        origin: pixel of the point (0, 0).
        light: changes every color but ink.
    """

    def __init__(
        self, image: Image.Image, matrix: tuple[Point, Point], origin: Point, light: Light
    ) -> None:
        self.image, self.light = image, light
        self._draw = ImageDraw.Draw(image)
        (self._xx, self._xy), (self._yx, self._yy) = matrix
        self._x, self._y = origin
        self._scale = math.sqrt(abs(self._xx * self._yy - self._xy * self._yx))

    @property
    def night(self) -> bool:
        """Whether lamps and windows shine."""
        return self.light.night

    def shape(self, paint: Paint, points: Points) -> None:
        self._draw.polygon(self._pixels(points), fill=self.light.on(paint))

    def blob(self, paint: Paint, points: Points) -> None:
        """A filled smooth closed curve through the points."""
        self.shape(paint, _smooth(points, closed=True))

    def disc(
        self,
        paint: Paint,
        x: float,
        y: float,
        radius: float,
        tall: float | None = None,
        turn: float = 0.0,
    ) -> None:
        """A circle, or an ellipse of half-height ``tall`` turned by ``turn`` degrees."""
        tall = radius if tall is None else tall
        cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
        outline = [
            (
                x + radius * cos * across - tall * sin * up,
                y + radius * sin * across + tall * cos * up,
            )
            for across, up in _circle(12 if radius * self._scale < 6 else 32)
        ]
        self.shape(paint, outline)

    def box(self, paint: Paint, left: float, low: float, right: float, high: float) -> None:
        self.shape(paint, [(left, low), (right, low), (right, high), (left, high)])

    def stroke(self, paint: Paint, width: float, points: Points) -> None:
        """A line with round ends and joints."""
        pixels, color = self._pixels(points), self.light.on(paint)
        thick = max(1, round(width * self._scale))
        self._draw.line(pixels, fill=color, width=thick, joint="curve")
        if thick > 2:
            for x, y in (pixels[0], pixels[-1]):
                half = thick / 2 - 0.5
                self._draw.ellipse((x - half, y - half, x + half, y + half), fill=color)

    def curve(self, paint: Paint, width: float, points: Points) -> None:
        """A smooth line through the points."""
        self.stroke(paint, width, _smooth(points, closed=False))

    def arc(
        self,
        paint: Paint,
        x: float,
        y: float,
        radius: float,
        first: float,
        last: float,
        width: float,
    ) -> None:
        """A band along a circle, between two angles in degrees, counted from the x axis to y."""
        turns = [math.radians(first + (last - first) * step / 40) for step in range(41)]
        outer, inner = radius + width / 2, radius - width / 2
        rim = [(x + outer * math.cos(turn), y + outer * math.sin(turn)) for turn in turns]
        hollow = [(x + inner * math.cos(turn), y + inner * math.sin(turn)) for turn in turns]
        self.shape(paint, rim + hollow[::-1])

    def blend(self, top: Paint, bottom: Paint, points: Points) -> None:
        """A polygon whose color runs from its top to its bottom."""
        pixels = self._pixels(points)
        xs, ys = [x for x, _ in pixels], [y for _, y in pixels]
        left, high = max(0, math.floor(min(xs))), max(0, math.floor(min(ys)))
        right = min(self.image.width, math.ceil(max(xs)) + 1)
        low = min(self.image.height, math.ceil(max(ys)) + 1)
        if right <= left or low <= high:
            return
        mask = Image.new("L", (right - left, low - high))
        ImageDraw.Draw(mask).polygon([(x - left, y - high) for x, y in pixels], fill=255)
        ends = (self.light.on(top), self.light.on(bottom))
        self.image.paste(gradient(ends, mask.size, "RGBa"), (left, high), mask)

    def _pixels(self, points: Points) -> list[Point]:
        xx, xy, yx, yy = self._xx, self._xy, self._yx, self._yy
        left, top = self._x, self._y
        return [(xx * x + xy * y + left, yx * x + yy * y + top) for x, y in points]


def gradient(
    stops: Sequence[Color] | Sequence[Ink], size: tuple[int, int], mode: str = "RGB"
) -> Image.Image:
    """A picture whose rows run through the colors, evenly spaced, from top to bottom."""
    rows = np.linspace(0.0, len(stops) - 1.0, size[1])
    column = np.stack(
        [np.interp(rows, range(len(stops)), channel) for channel in zip(*stops, strict=True)],
        axis=1,
    )
    levels = np.clip(column + 0.5, 0, 255).astype(np.uint8)
    strip = Image.frombytes(mode, (1, size[1]), levels.tobytes())
    return strip.resize(size, Image.Resampling.NEAREST)


@cache
def _circle(sides: int) -> list[Point]:
    turns = [2 * math.pi * side / sides for side in range(sides)]
    return [(math.cos(turn), math.sin(turn)) for turn in turns]


@cache
def _basis() -> list[tuple[float, float, float, float]]:
    """Catmull-Rom weights of four control points, for each step between the two inner ones."""
    steps = [step / _STEPS for step in range(_STEPS)]
    return [
        (
            (-t + 2 * t**2 - t**3) / 2,
            (2 - 5 * t**2 + 3 * t**3) / 2,
            (t + 4 * t**2 - 3 * t**3) / 2,
            (-(t**2) + t**3) / 2,
        )
        for t in steps
    ]


def _smooth(points: Points, *, closed: bool) -> list[Point]:
    first, *_, last = points
    padded = [last, *points, *points[:2]] if closed else [first, *points, last]
    curve = [
        (a * p[0] + b * q[0] + c * r[0] + d * s[0], a * p[1] + b * q[1] + c * r[1] + d * s[1])
        for p, q, r, s in zip(padded, padded[1:], padded[2:], padded[3:], strict=False)
        for a, b, c, d in _basis()
    ]
    return curve if closed else [*curve, last]
