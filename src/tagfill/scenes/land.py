"""Shapes of the land under the sky: y runs downwards from 0 to 1, x from 0 to 1."""

from __future__ import annotations

import math
from random import Random

from tagfill.scenes.color import Color, Paint, darker, lighter, mix, vary
from tagfill.scenes.pen import Pen, Point

_CORNERS = [(1.02, 1.02), (-0.02, 1.02)]


def hill(pen: Pen, rng: Random, top: Paint, low: Paint, level: float, swing: float) -> None:
    """A wavy edge, and everything below it."""
    pen.blend(top, low, [*_wavy(rng, level, swing), *_CORNERS])


def band(pen: Pen, rng: Random, top: Paint, low: Paint, high: float, bottom: float) -> None:
    """A strip from the left edge to the right one."""
    pen.blend(top, low, _quad(high, bottom))


def strand(pen: Pen, rng: Random, sand: Color, level: float) -> None:
    """Foam, wet and dry sand."""
    line = _wavy(rng, level, 0.018)

    def below(shift: float) -> list[Point]:
        return [*((x, y + shift) for x, y in line), *_CORNERS]

    pen.shape("#f9fbf8", below(-0.016))
    pen.shape(darker(sand, 0.16), below(0.0))
    pen.blend(sand, darker(sand, 0.1), below(0.035))


def skyline(pen: Pen, rng: Random, haze: Color, horizon: float) -> None:
    left = -0.05
    while left < 1.02:
        wide, top = rng.uniform(0.06, 0.13), horizon - rng.uniform(0.06, 0.24)
        _tower(pen, rng, left, left + wide, top, horizon + 0.06, vary(rng, haze, 10))
        left += wide + rng.uniform(-0.01, 0.03)


def sunlit_water(pen: Pen, rng: Random, top: Color, deep: Color, horizon: float) -> None:
    """Water cut open, with rays of light."""
    surface = _wavy(rng, horizon, 0.008)
    pen.shape("#e6f7f5", [*((x, y - 0.01) for x, y in surface), (1.02, 0.6), (-0.02, 0.6)])
    pen.blend(top, deep, [*surface, *_CORNERS])
    for _ in range(rng.randrange(3, 6)):
        x, wide, lean = rng.random(), rng.uniform(0.03, 0.09), rng.uniform(-0.25, 0.1)
        low = rng.uniform(0.7, 0.9)
        share = (low - horizon) / (1.02 - horizon)
        head = [(x, horizon + 0.02), (x + wide, horizon + 0.02)]
        foot = [(x + lean + wide * 1.7, low), (x + lean, low)]
        pen.blend(lighter(top, 0.3), mix(top, deep, share), head + foot)


def canopy(pen: Pen, rng: Random, color: Color, level: float) -> None:
    x = -0.05
    while x < 1.05:
        radius = rng.uniform(0.05, 0.1)
        pen.disc(color, x, level + rng.uniform(0.0, 0.05), radius)
        x += radius * 1.05
    pen.shape(color, _quad(level + 0.02, level + 0.25))


def trunks(pen: Pen, rng: Random, color: Color, horizon: float) -> None:
    for _ in range(6):
        x, half = rng.random(), rng.uniform(0.004, 0.01)
        pen.box(color, x - half, horizon - 0.1, x + half, horizon + 0.03)


def water(pen: Pen, rng: Random, far: Color, near: Color, top: float, bottom: float) -> None:
    """Water with waves that grow towards the eye."""
    pen.blend(far, near, _quad(top, bottom))
    for number in range(26):
        share = (number + rng.random()) / 26
        y = top + 0.015 + (bottom - top) * share**1.3
        half, crest = 0.012 + 0.045 * share, y - 0.006 * (1 + share)
        x = rng.random()
        color = lighter(mix(far, near, share), rng.uniform(0.15, 0.4))
        wave = [(x - half, y), (x - half / 2, crest), (x, y), (x + half / 2, crest), (x + half, y)]
        pen.curve(color, 0.003 + 0.003 * share, wave)


def path(pen: Pen, rng: Random, color: Color, top: float) -> None:
    """A winding path that widens towards the eye."""
    start, bend, end = rng.uniform(0.3, 0.7), rng.uniform(-0.2, 0.2), rng.uniform(0.2, 0.8)
    left, right = [], []
    for step in range(17):
        share = step / 16
        y = top + (1.02 - top) * share**1.5
        x = start + (end - start) * share + bend * math.sin(math.pi * share * 1.5) * 0.6
        half = 0.008 + 0.085 * share**1.6
        left.append((x - half, y))
        right.append((x + half, y))
    pen.blend(lighter(color, 0.2), color, left + right[::-1])


def patches(pen: Pen, rng: Random, bright: Color, dim: Color, top: float) -> None:
    """Flat spots of other grass."""
    for _ in range(7):
        x, share = rng.uniform(-0.1, 1.1), rng.random()
        wide = rng.uniform(0.06, 0.2) * (0.4 + share)
        pen.disc(mix(bright, dim, share), x, top + (1 - top) * share, wide, wide * 0.13)


def tufts(pen: Pen, rng: Random, color: Color, top: float, count: float) -> None:
    for _ in range(int(count)):
        x, share = rng.random(), rng.random()
        y, size = top + (1 - top) * share, 0.007 + 0.012 * share
        for lean in (-0.6, 0.0, 0.6):
            pen.stroke(color, 0.0028, [(x, y), (x + lean * size, y - size)])


def _wavy(rng: Random, level: float, swing: float) -> list[Point]:
    first, second = rng.uniform(0, 6.3), rng.uniform(0, 6.3)
    fast = rng.uniform(6, 11)
    return [
        (x, level + swing * (0.7 * math.sin(4.3 * x + first) + 0.3 * math.sin(fast * x + second)))
        for x in (-0.02 + 1.04 * step / 32 for step in range(33))
    ]


def _quad(top: float, bottom: float) -> list[Point]:
    return [(-0.02, top), (1.02, top), (1.02, bottom), (-0.02, bottom)]


def _tower(
    pen: Pen, rng: Random, left: float, right: float, top: float, low: float, color: Color
) -> None:
    pen.box(color, left, top, right, low)
    light: Color = (255.0, 224.0, 150.0) if pen.night else mix(color, "#ffffff", 0.3)
    columns = max(2, int((right - left) / 0.024))
    for row in range(int((low - top) / 0.034)):
        for column in range(columns):
            if rng.random() < 0.55:
                x = left + (column + 0.3) * (right - left) / columns
                y = top + 0.014 + row * 0.034
                pen.box(light, x, y, x + 0.009, y + 0.014)
