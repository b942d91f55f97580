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
    left: float
    top: float
    width: float
    height: float


class Tick(NamedTuple):
    position: float
    text: str


class Series(NamedTuple):
    """A line to draw, or a drawn one: then in pixels, with its SVG path."""

    name: str
    points: Sequence[Point]
    path: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart in pixels; ``marks`` are points that matter, ``rules`` vertical lines."""

    x_label: str
    y_label: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    lines: tuple[Series, ...]
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
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)


def across(low: float, high: float) -> Scale:
    return Scale(low, high if high > low else low + 1, LEFT, WIDTH - RIGHT)


def upward(low: float, high: float) -> Scale:
    return Scale(low, high if high > low else low + 1, HEIGHT - BOTTOM, TOP)


def ticks(scale: Scale, wanted: int = 5, *, whole: bool = False) -> tuple[Tick, ...]:
    """Marks at round values inside the scale."""
    rough = (scale.high - scale.low) / wanted
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(step * size for step in _STEPS if step * size >= rough * (1 - 1e-9))
    step = max(1.0, math.ceil(step)) if whole else step
    first = math.ceil(scale.low / step - 1e-9)
    last = math.floor(scale.high / step + 1e-9)
    digits = len(f"{step:.9f}".rstrip("0").partition(".")[2])
    values = [number * step for number in range(first, last + 1)]
    return tuple(Tick(scale(value), f"{value:.{digits}f}") for value in values)


def drawn(series: Series, x: Scale, y: Scale) -> Series:
    points = tuple(Point(x(point.x), y(point.y)) for point in series.points)
    path = "M" + " L".join(f"{point.x:g} {point.y:g}" for point in points)
    return Series(series.name, points, path)


def line_chart(
    lines: Sequence[Series],
    *,
    x_label: str,
    y_label: str,
    marks: Sequence[Point] = (),
    rules: Sequence[float] = (),
) -> Chart:
    """Lines over whole numbers such as epochs."""
    x_values, y_values = zip(*(point for line in lines for point in line.points), strict=True)
    highest, lowest = max(y_values), min(y_values)
    room = 0.08 * (highest - lowest) or 0.5
    x, y = across(min(x_values), max(x_values)), upward(lowest - room, highest + 2 * room)
    return Chart(
        x_label,
        y_label,
        ticks(x, 6, whole=True),
        ticks(y),
        tuple(drawn(line, x, y) for line in lines),
        marks=tuple(Point(x(mark.x), y(mark.y)) for mark in marks),
        rules=tuple(x(rule) for rule in rules),
    )
