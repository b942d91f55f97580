"""Things that are built: house, castle, lighthouse, windmill."""

from __future__ import annotations

import math
from random import Random

from tagfill.scenes.color import Color, Paint, darker, ink, lighter, pick
from tagfill.scenes.pen import Pen

_ROOFS = ("#c8573f", "#b5493d", "#7d5a4b", "#5f6f8c", "#8b5566", "#d0763f", "#4f7f7a")


def house(pen: Pen, rng: Random) -> None:
    """Walls, a gabled or hipped roof, door, windows and perhaps a chimney."""
    wall = pick(rng, "#f5e3c0", "#f3cdb4", "#e9ead8", "#cfe0e6", "#f7d98b", "#e8b9b0", "#ffffff")
    roof, trim = pick(rng, *_ROOFS), pick(rng, "#ffffff", "#6d4c3d", "#fdf3e0", amount=5)
    half, eave = rng.uniform(0.38, 0.5), rng.uniform(0.5, 0.58)
    if rng.random() < 0.7:
        side = rng.choice((-1, 1)) * half * 0.55
        pen.box(side - 0.05, 0.6, side + 0.05, 0.97, darker(roof, 0.25))
    pen.box(-half, 0, half, eave, wall)
    pen.box(half - 0.12, 0, half, eave, darker(wall, 0.1))
    ridge = 0.0 if rng.random() < 0.6 else half * 0.55
    peak = rng.uniform(0.88, 0.96)
    pen.shape(
        f"{-half - 0.08} {eave - 0.03}  {-ridge} {peak}  {ridge} {peak}  "
        f"{half + 0.08} {eave - 0.03}",
        roof,
    )
    pen.shape(
        f"{-half - 0.08} {eave - 0.03}  {half + 0.08} {eave - 0.03}  "
        f"{half + 0.04} {eave + 0.02}  {-half - 0.04} {eave + 0.02}",
        darker(roof, 0.2),
    )
    door = rng.uniform(-0.08, 0.08)
    pen.box(door - 0.09, 0, door + 0.09, 0.3, pick(rng, "#7a4b32", "#4f6d8a", "#a3423a", "#5a7f5b"))
    pen.disc(door + 0.055, 0.15, 0.016, "#f4d58a")
    for x in (-half * 0.62, half * 0.62):
        _window(pen, x, 0.31, 0.085, trim)
    if ridge == 0.0 and rng.random() < 0.5:
        pen.disc(0, eave + 0.14, 0.07, trim)
        pen.disc(0, eave + 0.14, 0.05, _glass(pen))


def castle(pen: Pen, rng: Random) -> None:
    """A keep with battlements between two towers."""
    stone = pick(rng, "#c9c3bd", "#b9bcc6", "#d8c8ae", "#c5b3b6")
    roof, flag = pick(rng, *_ROOFS), pick(rng, "#e2574c", "#f0b53f", "#4a86c5")
    pen.box(-0.4, 0, 0.4, 0.5, stone)
    _battlements(pen, -0.4, 0.4, 0.5, stone)
    pen.box(-0.19, 0.4, 0.19, 0.72, darker(stone, 0.08))
    _battlements(pen, -0.19, 0.19, 0.72, darker(stone, 0.08))
    pointed = rng.random() < 0.7
    for side in (-1, 1):
        x = side * 0.44
        pen.box(x - 0.12, 0, x + 0.12, 0.64, lighter(stone, 0.15))
        pen.box(x + 0.04, 0, x + 0.12, 0.64, darker(stone, 0.1))
        if pointed:
            pen.shape([(x - 0.16, 0.63), (x + 0.16, 0.63), (x, 0.92)], roof)
            pen.shape([(x + 0.02, 0.63), (x + 0.16, 0.63), (x, 0.92)], darker(roof, 0.2))
        else:
            _battlements(pen, x - 0.14, x + 0.14, 0.64, lighter(stone, 0.1))
        pen.box(x - 0.025, 0.38, x + 0.025, 0.5, _glass(pen))
    pen.stroke([(0, 0.74), (0, 0.98)], 0.016, "#6b5a4a")
    pen.shape([(0.0, 0.98), (0.15, 0.93), (0.0, 0.88)], flag)
    gate = darker("#6b4a38", 0.1)
    pen.box(-0.11, 0, 0.11, 0.2, gate)
    pen.disc(0, 0.2, 0.11, gate)
    for x in (-0.09, 0.09):
        pen.box(x - 0.02, 0.53, x + 0.02, 0.63, _glass(pen))


def lighthouse(pen: Pen, rng: Random) -> None:
    """A striped tower on a rock, its lamp lit."""
    stripe = pick(rng, "#d9483f", "#3f6fa8", "#2f3e55", "#e0803c")
    rock = pick(rng, "#8d8583", "#7d8088", "#9b8c7d")
    pen.blob([(-0.3, 0.0), (-0.24, 0.1), (0.0, 0.15), (0.24, 0.09), (0.3, 0.0), (0.0, -0.02)], rock)
    bands = rng.choice((5, 7))
    for number in range(bands):
        low, high = 0.08 + 0.64 * number / bands, 0.08 + 0.64 * (number + 1) / bands
        color: Color = stripe if number % 2 else (250.0, 247.0, 240.0)
        wide, narrow = 0.16 - 0.09 * low, 0.16 - 0.09 * high
        pen.shape([(-wide, low), (wide, low), (narrow, high), (-narrow, high)], color)
        pen.shape(
            f"{wide * 0.45} {low}  {wide} {low}  {narrow} {high}  {narrow * 0.45} {high}",
            darker(color, 0.15),
        )
    pen.box(-0.13, 0.71, 0.13, 0.745, "#4a4a58")
    pen.box(-0.075, 0.745, 0.075, 0.87, ink("#ffe58a") if pen.night else "#ffe9a8")
    pen.stroke([(0, 0.745), (0, 0.87)], 0.016, "#4a4a58")
    pen.shape([(-0.11, 0.865), (0.11, 0.865), (0, 0.98)], stripe)


def windmill(pen: Pen, rng: Random) -> None:
    """A tapering tower with four lattice sails."""
    wall = pick(rng, "#f1e4cd", "#e9d3b5", "#ffffff", "#d9c2a6", "#c58e6a")
    roof = pick(rng, *_ROOFS)
    pen.shape([(-0.19, 0), (0.19, 0), (0.115, 0.6), (-0.115, 0.6)], wall)
    pen.shape([(0.07, 0), (0.19, 0), (0.115, 0.6), (0.05, 0.6)], darker(wall, 0.12))
    pen.blob([(-0.15, 0.59), (-0.1, 0.69), (0, 0.75), (0.1, 0.69), (0.15, 0.59)], roof)
    pen.box(-0.055, 0, 0.055, 0.16, "#7a5138")
    _window(pen, 0, 0.33, 0.04, "#ffffff")
    start = rng.uniform(0, 90)
    for turn in (start, start + 90, start + 180, start + 270):
        cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
        blade = [(0.08, 0.012), (0.36, 0.012), (0.36, 0.1), (0.08, 0.075)]
        pen.shape([(x * cos - y * sin, 0.62 + x * sin + y * cos) for x, y in blade], "#fdf8ec")
        for x in (0.15, 0.22, 0.29):
            rung = [(x * cos - y * sin, 0.62 + x * sin + y * cos) for y in (0.01, 0.085)]
            pen.stroke(rung, 0.01, "#b39a80")
        pen.stroke([(0, 0.62), (0.37 * cos, 0.62 + 0.37 * sin)], 0.022, "#6d4c3d")
    pen.disc(0, 0.62, 0.03, "#5a3d30")


def _glass(pen: Pen) -> Paint:
    return ink("#ffd873") if pen.night else "#7fb2cf"


def _window(pen: Pen, x: float, y: float, half: float, trim: Paint) -> None:
    pen.box(x - half, y - half, x + half, y + half, trim)
    pane = half * 0.76
    pen.box(x - pane, y - pane, x + pane, y + pane, _glass(pen))
    pen.stroke([(x, y - half), (x, y + half)], half * 0.22, trim)
    pen.stroke([(x - half, y), (x + half, y)], half * 0.22, trim)


def _battlements(pen: Pen, left: float, right: float, base: float, stone: Color) -> None:
    count = max(3, round((right - left) / 0.1))
    count += 1 - count % 2
    step = (right - left) / count
    for number in range(0, count, 2):
        pen.box(left + number * step, base - 0.01, left + (number + 1) * step, base + 0.06, stone)
