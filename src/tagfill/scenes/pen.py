"""Draws in unit coordinates: the same drawing at any size, turn and flip."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from tagfill.scenes.colour import Colour, Ink, Light, Paint

Point = tuple[float, float]
Points = Sequence[Point] | npt.NDArray[np.float64]

_STEPS = 6
"""Straight pieces between two control points of a smooth curve."""


class Pen:
    """A drawing surface with its own coordinates.

    Args:
        image: RGBa picture drawn on; ink is opaque, so premultiplied and plain colours agree.
        matrix: [2, 2] from drawing units to pixels.
        origin: pixel of the point (0, 0).
        light: changes every colour but ink.
    """

    def __init__(
        self,
        image: Image.Image,
        matrix: npt.NDArray[np.float64],
        origin: Point,
        light: Light,
    ) -> None:
        self.image, self.light = image, light
        self._draw = ImageDraw.Draw(image)
        self._matrix, self._origin = matrix.T, np.asarray(origin)
        self._scale = math.sqrt(abs(float(np.linalg.det(matrix))))

    @property
    def night(self) -> bool:
        """Whether lamps and windows shine."""
        return self.light.night

    def shape(self, points: Points, paint: Paint) -> None:
        """A filled polygon."""
        self._draw.polygon(self._pixels(points), fill=self.light.on(paint))

    def blob(self, points: Points, paint: Paint) -> None:
        """A filled smooth closed curve through the points."""
        self.shape(_smooth(np.asarray(points, dtype=np.float64), closed=True), paint)

    def disc(
        self,
        x: float,
        y: float,
        radius: float,
        paint: Paint,
        *,
        tall: float | None = None,
        turn: float = 0.0,
    ) -> None:
        """A circle, or an ellipse of half-height ``tall`` turned by ``turn`` degrees."""
        circle = _circle(12 if radius * self._scale < 6 else 32)
        outline = circle * np.array([radius, radius if tall is None else tall])
        if turn:
            outline = outline @ _rotation(turn).T
        self.shape(outline + np.array([x, y]), paint)

    def box(self, left: float, low: float, right: float, high: float, paint: Paint) -> None:
        """A filled rectangle."""
        self.shape([(left, low), (right, low), (right, high), (left, high)], paint)

    def stroke(self, points: Points, width: float, paint: Paint) -> None:
        """A line with round ends and joints."""
        pixels, colour = self._pixels(points), self.light.on(paint)
        thick = max(1, round(width * self._scale))
        self._draw.line(pixels, fill=colour, width=thick, joint="curve")
        if thick > 2:
            for x, y in (pixels[0], pixels[-1]):
                half = thick / 2 - 0.5
                self._draw.ellipse((x - half, y - half, x + half, y + half), fill=colour)

    def curve(self, points: Points, width: float, paint: Paint) -> None:
        """A smooth line through the points."""
        self.stroke(_smooth(np.asarray(points, dtype=np.float64), closed=False), width, paint)

    def arc(
        self,
        centre: Point,
        radius: float,
        angles: tuple[float, float],
        width: float,
        paint: Paint,
    ) -> None:
        """A band along a circle, between two angles in degrees, counted from the x axis to y."""
        turn = np.radians(np.linspace(angles[0], angles[1], 40))
        ray = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        outer, inner = ray * (radius + width / 2), ray[::-1] * (radius - width / 2)
        self.shape(np.concatenate([outer, inner]) + centre, paint)

    def blend(self, points: Points, top: Paint, bottom: Paint) -> None:
        """A polygon whose colour runs from its top to its bottom."""
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
        placed = np.asarray(points, dtype=np.float64) @ self._matrix + self._origin
        return list(map(tuple, placed.tolist()))


def gradient(
    stops: Sequence[Colour] | Sequence[Ink], size: tuple[int, int], mode: str = "RGB"
) -> Image.Image:
    """A picture whose rows run through the colours, evenly spaced, from top to bottom."""
    rows = np.linspace(0.0, len(stops) - 1.0, size[1])
    column = np.stack(
        [np.interp(rows, range(len(stops)), channel) for channel in zip(*stops, strict=True)],
        axis=1,
    )
    levels = np.clip(column + 0.5, 0, 255).astype(np.uint8)
    strip = Image.frombytes(mode, (1, size[1]), levels.tobytes())
    return strip.resize(size, Image.Resampling.NEAREST)


@cache
def _circle(sides: int) -> npt.NDArray[np.float64]:
    turn = np.linspace(0.0, 2 * np.pi, sides, endpoint=False)
    return np.stack([np.cos(turn), np.sin(turn)], axis=1)


def _rotation(degrees: float) -> npt.NDArray[np.float64]:
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[cos, -sin], [sin, cos]])


@cache
def _basis() -> npt.NDArray[np.float64]:
    """[steps, 4] Catmull-Rom weights of four neighbouring control points."""
    t = np.linspace(0.0, 1.0, _STEPS, endpoint=False)
    return 0.5 * np.stack(
        [
            -t + 2 * t**2 - t**3,
            2 - 5 * t**2 + 3 * t**3,
            t + 4 * t**2 - 3 * t**3,
            -(t**2) + t**3,
        ],
        axis=1,
    )


def _smooth(points: npt.NDArray[np.float64], *, closed: bool) -> npt.NDArray[np.float64]:
    count = len(points)
    padded = (
        np.concatenate([points[-1:], points, points[:2]])
        if closed
        else np.concatenate([points[:1], points, points[-1:]])
    )
    pieces = count if closed else count - 1
    windows = np.stack([padded[at : at + pieces] for at in range(4)], axis=1)
    curve = np.einsum("sw,pwc->psc", _basis(), windows).reshape(-1, 2)
    return curve if closed else np.concatenate([curve, points[-1:]])
