"""Geometry of small charts; templates draw it in the colors of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

WIDTH, HEIGHT = 420, 262
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 26, 40
_STEPS = (1, 2, 2.5, 5, 10)


class Point(NamedTuple):
    """A point in data coordinates or pixels."""

    x: float
    y: float


class Bar(NamedTuple):
    """A column in pixels."""

    left: float
    top: float
    width: float
    height: float


class Tick(NamedTuple):
    """A mark on an axis: its position and text."""

    position: float
    text: str


@dataclass(frozen=True)
class Series:
    """One line to draw."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True)
class Drawn:
    """A line in pixels: an SVG path, and its points."""

    name: str
    path: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Chart:
    """A chart in pixels.

    Args:
        lines: one each series.
        marks: single points that matter.
        bars: columns on the ground.
        rules: vertical lines, in pixels.
    """

    x_label: str
    y_label: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    lines: tuple[Drawn, ...]
    marks: tuple[Point, ...] = ()
    bars: tuple[Bar, ...] = ()
    rules: tuple[float, ...] = ()
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


@dataclass(frozen=True)
class Scale:
    """From values to pixels along one axis."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Position of a value on the axis."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)


def across(low: float, high: float) -> Scale:
    """The horizontal axis."""
    return Scale(low, high if high > low else low + 1, LEFT, WIDTH - RIGHT)


def upward(low: float, high: float) -> Scale:
    """The vertical axis."""
    return Scale(low, high if high > low else low + 1, HEIGHT - BOTTOM, TOP)


def ticks(scale: Scale, wanted: int = 5, *, whole: bool = False) -> tuple[Tick, ...]:
    """Marks at round values inside the scale."""
    step = _round_step((scale.high - scale.low) / wanted)
    step = max(1.0, math.ceil(step)) if whole else step
    first = math.ceil(scale.low / step - 1e-9)
    last = math.floor(scale.high / step + 1e-9)
    digits = len(f"{step:.9f}".rstrip("0").partition(".")[2])
    values = [number * step for number in range(first, last + 1)]
    return tuple(Tick(scale(value), f"{value:.{digits}f}") for value in values)


def drawn(series: Series, x: Scale, y: Scale) -> Drawn:
    """A line in pixels."""
    points = tuple(Point(x(point.x), y(point.y)) for point in series.points)
    path = " ".join(
        f"{'L' if number else 'M'}{point.x:g} {point.y:g}" for number, point in enumerate(points)
    )
    return Drawn(series.name, path, points)


def line_chart(
    lines: Sequence[Series],
    *,
    x_label: str,
    y_label: str,
    marks: Sequence[Point] = (),
    rules: Sequence[float] = (),
) -> Chart:
    """Lines over whole numbers such as epochs."""
    points = [point for line in lines for point in line.points]
    highest, lowest = max(point.y for point in points), min(point.y for point in points)
    room = 0.08 * (highest - lowest) or 0.5
    x = across(min(point.x for point in points), max(point.x for point in points))
    y = upward(lowest - room, highest + 2 * room)
    return Chart(
        x_label,
        y_label,
        ticks(x, 6, whole=True),
        ticks(y),
        tuple(drawn(line, x, y) for line in lines),
        marks=tuple(Point(x(mark.x), y(mark.y)) for mark in marks),
        rules=tuple(x(rule) for rule in rules),
    )


def _round_step(rough: float) -> float:
    size = 10.0 ** math.floor(math.log10(rough))
    return next(step * size for step in _STEPS if step * size >= rough * (1 - 1e-9))
