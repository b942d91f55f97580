"""Painters of the land under the sky: y runs downwards from 0 to 1, x from 0 to 1."""

from __future__ import annotations

import math
from random import Random

from tagfill.scenes.color import Color, darker, lighter, mix, pick, vary
from tagfill.scenes.pen import Pen, Point


def meadow(pen: Pen, rng: Random, horizon: float) -> None:
    """Rolling green hills, perhaps a path."""
    grass = pick(rng, "#9cc46a", "#86b562", "#b6c46a", "#a9cf7f", "#c7bd6b")
    far = mix(grass, "#9fbfc4", 0.55)
    _hill(pen, rng, horizon - 0.06, 0.035, far, mix(far, grass, 0.4))
    _hill(pen, rng, horizon - 0.02, 0.03, mix(far, grass, 0.55), grass)
    _hill(pen, rng, horizon + 0.03, 0.025, lighter(grass, 0.16), darker(grass, 0.1))
    _patches(pen, rng, horizon + 0.1, lighter(grass, 0.1), grass)
    if rng.random() < 0.4:
        _path(pen, rng, horizon + 0.05, pick(rng, "#e6d3a3", "#d9c08f", "#efe0bb"))
    _tufts(pen, rng, horizon + 0.08, darker(grass, 0.16), 26)


def forest(pen: Pen, rng: Random, horizon: float) -> None:
    """A far wall of leaves above a mossy floor."""
    leaf = pick(rng, "#5f8f68", "#4f8276", "#7f9a5b", "#b08a52", "#6f8f86")
    floor = pick(rng, "#9ab36b", "#b0a86c", "#8fae78", "#b99f72")
    for layer in range(3):
        color = mix(leaf, "#c5d8d2", 0.5 - 0.22 * layer)
        _canopy(pen, rng, horizon - 0.15 + 0.06 * layer, color)
        _trunks(pen, rng, horizon, darker(color, 0.12 + 0.08 * layer))
    _hill(pen, rng, horizon, 0.02, lighter(floor, 0.12), darker(floor, 0.14))
    _patches(pen, rng, horizon + 0.06, lighter(floor, 0.12), darker(floor, 0.04))
    _tufts(pen, rng, horizon + 0.06, darker(floor, 0.2), 22)


def sea(pen: Pen, rng: Random, horizon: float) -> None:
    """Open water with rows of waves, perhaps a far coast."""
    near = pick(rng, "#3f86b0", "#35799f", "#4c97a8", "#3a6f9f")
    if rng.random() < 0.35:
        _hill(pen, rng, horizon - 0.03, 0.025, "#a9bccb", "#a9bccb")
    _water(pen, rng, horizon, 1.0, mix(near, "#bfe3e6", 0.55), near)


def beach(pen: Pen, rng: Random, horizon: float) -> None:
    """A strip of sea, foam, wet and dry sand."""
    near = pick(rng, "#4aa3b8", "#58b0b5", "#4590b4")
    sand = pick(rng, "#f2dfb0", "#ecd2a0", "#f5e6c4", "#e4c899")
    shore = horizon + 0.42 * (1 - horizon)
    _water(pen, rng, horizon, shore + 0.06, mix(near, "#cdeaea", 0.4), lighter(near, 0.15))
    line = _wavy(rng, shore, 0.018)
    for shift, color in ((-0.016, "#f9fbf8"), (0.0, darker(sand, 0.16))):
        pen.shape([*((x, y + shift) for x, y in line), (1.02, 1.02), (-0.02, 1.02)], color)
    pen.blend(
        [*((x, y + 0.035) for x, y in line), (1.02, 1.02), (-0.02, 1.02)], sand, darker(sand, 0.1)
    )
    for _ in range(24):
        x, y = rng.random(), rng.uniform(shore + 0.08, 1.0)
        pen.disc(x, y, 0.004, darker(sand, 0.2), tall=0.002)


def street(pen: Pen, rng: Random, horizon: float) -> None:
    """A skyline, a lawn or pavement, and a road with a broken line."""
    haze = pick(rng, "#b9c3d4", "#c9bccb", "#c3c9c2")
    x = -0.05
    while x < 1.02:
        wide, top = rng.uniform(0.06, 0.13), horizon - rng.uniform(0.06, 0.24)
        _tower(pen, rng, x, x + wide, top, horizon + 0.06, vary(rng, haze, 10))
        x += wide + rng.uniform(-0.01, 0.03)
    ground = pick(rng, "#a9bf83", "#d3cdc2", "#c9c4c6", "#b4c78f")
    pen.blend(_quad(horizon, 1.02), lighter(ground, 0.15), ground)
    road = horizon + rng.uniform(0.46, 0.54) * (1 - horizon)
    edge = rng.uniform(0.93, 0.98)
    pen.shape(_quad(road - 0.03, edge + 0.025), "#e2ddd2")
    tar = pick(rng, "#7f8390", "#8b8791", "#757c86")
    pen.blend(_quad(road, edge), tar, darker(tar, 0.12))
    middle, start = (road + edge) / 2, rng.uniform(-0.12, 0.0)
    for number in range(8):
        left = start + number * 0.16
        pen.box(left, middle - 0.007, left + 0.085, middle + 0.007, "#f4efe0")


def highlands(pen: Pen, rng: Random, horizon: float) -> None:
    """Steep slopes of heath and grass."""
    heath = pick(rng, "#94a86a", "#a89a72", "#86a07a", "#9a8f86", "#b0a865")
    far = mix(heath, "#a7b4c9", 0.6)
    _hill(pen, rng, horizon - 0.05, 0.07, far, far)
    _hill(pen, rng, horizon, 0.05, mix(far, heath, 0.6), heath)
    _hill(pen, rng, horizon + 0.06, 0.03, lighter(heath, 0.16), darker(heath, 0.12))
    _patches(pen, rng, horizon + 0.13, lighter(heath, 0.1), heath)
    _tufts(pen, rng, horizon + 0.12, darker(heath, 0.2), 18)


def snow(pen: Pen, rng: Random, horizon: float) -> None:
    """White drifts with blue shadows."""
    white = pick(rng, "#f4f7fc", "#eef3fb", "#f8f4f4", amount=5)
    _hill(pen, rng, horizon - 0.06, 0.045, "#c3d1e6", "#d7e1f0")
    _hill(pen, rng, horizon - 0.01, 0.03, "#dbe5f3", white)
    _hill(pen, rng, horizon + 0.05, 0.025, white, "#d3deef")
    for _ in range(9):
        x, y = rng.random(), rng.uniform(horizon + 0.12, 1.0)
        half = rng.uniform(0.03, 0.09)
        pen.curve([(x - half, y), (x, y - 0.008), (x + half, y)], 0.005, "#c6d4e8")


def reef(pen: Pen, rng: Random, horizon: float) -> None:
    """The sea cut open: rays of light above a sandy floor."""
    top = pick(rng, "#8fd6d8", "#86c8de", "#9fdcc9")
    deep = pick(rng, "#2f7f9f", "#2f6f9a", "#3a8a92")
    surface = _wavy(rng, horizon, 0.008)
    pen.shape([*((x, y - 0.01) for x, y in surface), (1.02, 0.6), (-0.02, 0.6)], "#e6f7f5")
    pen.blend([*surface, (1.02, 1.02), (-0.02, 1.02)], top, deep)
    for _ in range(rng.randrange(3, 6)):
        x, wide, lean = rng.random(), rng.uniform(0.03, 0.09), rng.uniform(-0.25, 0.1)
        low = rng.uniform(0.7, 0.9)
        share = (low - horizon) / (1.02 - horizon)
        foot = [(x + lean + wide * 1.7, low), (x + lean, low)]
        pen.blend(
            [(x, horizon + 0.02), (x + wide, horizon + 0.02), *foot],
            lighter(top, 0.3),
            mix(top, deep, share),
        )
    sand = mix(pick(rng, "#e8d3a0", "#d9c49a", "#f0dcb0"), deep, 0.25)
    floor = rng.uniform(0.84, 0.9)
    _hill(pen, rng, floor - 0.05, 0.03, mix(sand, deep, 0.4), mix(sand, deep, 0.3))
    _hill(pen, rng, floor, 0.025, lighter(sand, 0.1), darker(sand, 0.12))


def _wavy(rng: Random, level: float, swing: float) -> list[Point]:
    first, second = rng.uniform(0, 6.3), rng.uniform(0, 6.3)
    fast = rng.uniform(6, 11)
    return [
        (x, level + swing * (0.7 * math.sin(4.3 * x + first) + 0.3 * math.sin(fast * x + second)))
        for x in (-0.02 + 1.04 * step / 32 for step in range(33))
    ]


def _quad(top: float, bottom: float) -> list[Point]:
    return [(-0.02, top), (1.02, top), (1.02, bottom), (-0.02, bottom)]


def _hill(
    pen: Pen, rng: Random, level: float, swing: float, top: Color | str, low: Color | str
) -> None:
    pen.blend([*_wavy(rng, level, swing), (1.02, 1.02), (-0.02, 1.02)], top, low)


def _canopy(pen: Pen, rng: Random, level: float, color: Color) -> None:
    x = -0.05
    while x < 1.05:
        radius = rng.uniform(0.05, 0.1)
        pen.disc(x, level + rng.uniform(0.0, 0.05), radius, color)
        x += radius * 1.05
    pen.shape(_quad(level + 0.02, level + 0.25), color)


def _trunks(pen: Pen, rng: Random, horizon: float, color: Color) -> None:
    for _ in range(6):
        x, half = rng.random(), rng.uniform(0.004, 0.01)
        pen.box(x - half, horizon - 0.1, x + half, horizon + 0.03, color)


def _water(pen: Pen, rng: Random, top: float, bottom: float, far: Color, near: Color) -> None:
    pen.blend(_quad(top, bottom), far, near)
    for number in range(26):
        share = (number + rng.random()) / 26
        y = top + 0.015 + (bottom - top) * share**1.3
        half = 0.012 + 0.045 * share
        x = rng.random()
        color = lighter(mix(far, near, share), rng.uniform(0.15, 0.4))
        pen.curve(
            f"{x - half} {y}  {x - half / 2} {y - 0.006 * (1 + share)}  {x} {y}  "
            f"{x + half / 2} {y - 0.006 * (1 + share)}  {x + half} {y}",
            0.003 + 0.003 * share,
            color,
        )


def _path(pen: Pen, rng: Random, top: float, color: Color) -> None:
    start, bend, end = rng.uniform(0.3, 0.7), rng.uniform(-0.2, 0.2), rng.uniform(0.2, 0.8)
    left, right = [], []
    for step in range(17):
        share = step / 16
        y = top + (1.02 - top) * share**1.5
        x = start + (end - start) * share + bend * math.sin(math.pi * share * 1.5) * 0.6
        half = 0.008 + 0.085 * share**1.6
        left.append((x - half, y))
        right.append((x + half, y))
    pen.blend(left + right[::-1], lighter(color, 0.2), color)


def _patches(pen: Pen, rng: Random, top: float, bright: Color, dim: Color) -> None:
    for _ in range(7):
        x, share = rng.uniform(-0.1, 1.1), rng.random()
        wide = rng.uniform(0.06, 0.2) * (0.4 + share)
        color = mix(bright, dim, share)
        pen.disc(x, top + (1 - top) * share, wide, color, tall=wide * 0.13)


def _tufts(pen: Pen, rng: Random, top: float, color: Color, count: int) -> None:
    for _ in range(count):
        x, share = rng.random(), rng.random()
        y, size = top + (1 - top) * share, 0.007 + 0.012 * share
        for lean in (-0.6, 0.0, 0.6):
            pen.stroke([(x, y), (x + lean * size, y - size)], 0.0028, color)


def _tower(
    pen: Pen, rng: Random, left: float, right: float, top: float, low: float, color: Color
) -> None:
    pen.box(left, top, right, low, color)
    light: Color = (255.0, 224.0, 150.0) if pen.night else mix(color, "#ffffff", 0.3)
    columns = max(2, int((right - left) / 0.024))
    for row in range(int((low - top) / 0.034)):
        for column in range(columns):
            if rng.random() < 0.55:
                x = left + (column + 0.3) * (right - left) / columns
                y = top + 0.014 + row * 0.034
                pen.box(x, y, x + 0.009, y + 0.014, light)
