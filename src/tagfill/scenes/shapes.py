"""Shapes of several strokes that drawings name: wheels, windows, crowns, rays; then the land.

Of things y runs upwards from the feet to 1; of the land, downwards from the picture's top to 1.
"""

from __future__ import annotations

import math
from random import Random

from tagfill.scenes.color import Color, Paint, darker, lighter, mix, vary
from tagfill.scenes.pen import Pen, Point

_CORNERS = [(1.02, 1.02), (-0.02, 1.02)]


def ring(
    pen: Pen,
    rng: Random,
    paint: Paint,
    x: float,
    y: float,
    wide: float,
    tall: float,
    count: float,
    radius: float,
) -> None:
    """Discs along an ellipse."""
    for number in range(int(count)):
        turn = 2 * math.pi * number / count
        pen.disc(paint, x + wide * math.cos(turn), y + tall * math.sin(turn), radius)


def wheel(pen: Pen, rng: Random, x: float, y: float, radius: float) -> None:
    for paint, share in (("#33333f", 1.0), ("#cfcfd6", 0.5), ("#6d6d78", 0.2)):
        pen.disc(paint, x, y, radius * share)


def window(
    pen: Pen, rng: Random, trim: Paint, glass: Paint, x: float, y: float, half: float
) -> None:
    pane = half * 0.76
    pen.box(trim, x - half, y - half, x + half, y + half)
    pen.box(glass, x - pane, y - pane, x + pane, y + pane)
    pen.stroke(trim, half * 0.22, [(x, y - half), (x, y + half)])
    pen.stroke(trim, half * 0.22, [(x - half, y), (x + half, y)])


def battlements(
    pen: Pen, rng: Random, stone: Paint, left: float, right: float, base: float
) -> None:
    """An odd number of merlons and gaps."""
    count = max(3, round((right - left) / 0.1))
    count += 1 - count % 2
    step = (right - left) / count
    for number in range(0, count, 2):
        pen.box(stone, left + number * step, base - 0.01, left + (number + 1) * step, base + 0.06)


def striped_tower(pen: Pen, rng: Random, stripe: Color, bands: float) -> None:
    """A tapering tower, shaded on the right."""
    for number in range(int(bands)):
        low, high = 0.08 + 0.64 * number / bands, 0.08 + 0.64 * (number + 1) / bands
        color = stripe if number % 2 else (250.0, 247.0, 240.0)
        wide, narrow = 0.16 - 0.09 * low, 0.16 - 0.09 * high
        right = [(wide, low), (narrow, high)]
        pen.shape(color, [(-wide, low), *right, (-narrow, high)])
        pen.shape(darker(color, 0.15), [(wide * 0.45, low), *right, (narrow * 0.45, high)])


def sails(pen: Pen, rng: Random, start: float) -> None:
    """Four lattice sails of a windmill."""
    for turn in (start, start + 90, start + 180, start + 270):
        cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))

        def turned(*points: Point, cos: float = cos, sin: float = sin) -> list[Point]:
            return [(x * cos - y * sin, 0.62 + x * sin + y * cos) for x, y in points]

        pen.shape("#fdf8ec", turned((0.08, 0.012), (0.36, 0.012), (0.36, 0.1), (0.08, 0.075)))
        for x in (0.15, 0.22, 0.29):
            pen.stroke("#b39a80", 0.01, turned((x, 0.01), (x, 0.085)))
        pen.stroke("#6d4c3d", 0.022, turned((0, 0), (0.37, 0)))


def striped_canopy(pen: Pen, rng: Random, first: Color, second: Color) -> None:
    """The canopy of an umbrella: six stripes, and their scallops."""
    stripes = (first, second) * 3
    for number, color in enumerate(stripes):
        right, left = _arcs(0.5 - number / 6, -0.5, 0.56, 0.38, lowest=0)
        pen.shape(color, right + left)
    for number, color in enumerate(stripes[1:] + stripes[:1]):
        pen.disc(darker(color, 0.12), -0.5 + (number + 0.5) / 6, 0.56, 0.5 / 6, 0.045)


def gores(pen: Pen, rng: Random, first: Color, second: Color, count: float) -> None:
    """The gores of a balloon, each painted over the left part of the one before."""
    edges = [1 - 2 * number / count for number in range(int(count))]
    colors = [second if number % 2 else first for number in range(int(count))]
    last = (-1 + 2 / count, darker(first, 0.15))
    for edge, color in [*zip(edges, colors, strict=True), last]:
        right, left = _arcs(0.36 * edge, -0.36, 0.64, 0.35, lowest=-30)
        pen.shape(color, [*right, (0.16 * edge, 0.31), (-0.16, 0.31), *left])


def crown(pen: Pen, rng: Random, leaf: Color, low: float, width: float) -> None:
    """Leaves from a height to the top, sometimes with fruit."""
    middle, tall = (low + 1.0) / 2, (1.0 - low) / 2
    puffs = [
        (width * 0.72 * math.cos(turn), middle + (tall - 0.17) * math.sin(turn))
        for turn in (6.283 * number / 7 + rng.uniform(-0.2, 0.2) for number in range(7))
    ]
    for shift, radius, color in ((0.0, 0.17, darker(leaf, 0.18)), (0.02, 0.15, leaf)):
        pen.disc(color, 0, middle + shift, width, tall * 0.8)
        for x, y in puffs:
            pen.disc(color, x, y + shift, radius)
    for x, y in puffs[:5]:
        pen.disc(lighter(leaf, 0.18), x * 0.75 - 0.04, y * 0.85 + 0.15 * middle + 0.07, 0.07)
    if rng.random() < 0.25:
        fruit = vary(rng, rng.choice(("#d9483b", "#f2c14e", "#f4f1ea")), 12.0)
        for x, y in puffs:
            pen.disc(fruit, x * 0.7, y * 0.8 + 0.2 * middle, 0.032)


def fir_tiers(pen: Pen, rng: Random, leaf: Color, tiers: float, half: float, snowy: float) -> None:
    """Tiers of branches, narrower and lighter towards the top."""
    for number in range(int(tiers)):
        low = 0.12 + 0.68 * number / tiers
        high = min(1.0, low + 0.95 / tiers + 0.12)
        wide = half * (1 - number / (tiers + 0.6))
        right, top = (wide, low), (0.0, high)
        shade = lighter(leaf, 0.05 * number)
        pen.shape(
            shade, [(-wide, low), (-wide * 0.4, low - 0.03), (wide * 0.4, low - 0.03), right, top]
        )
        pen.shape(darker(shade, 0.17), [(wide * 0.1, low - 0.02), right, top])
        if snowy:
            edge = (low + high) / 2
            snow = [(-wide * 0.5, edge), (-wide * 0.1, edge - 0.03), (wide * 0.45, edge), top]
            pen.shape("#f2f6fb", snow)


def petals(pen: Pen, rng: Random, color: Color, x: float, y: float) -> None:
    """Five to eight petals around the heart of a daisy."""
    count, length, start = rng.randrange(5, 9), rng.uniform(0.1, 0.125), rng.uniform(0, 360)
    for number in range(count):
        turn = start + 360 * number / count
        left, low = _around(turn, 0.13, 0.13, y)
        pen.disc(vary(rng, color, 6), x + left, low, length, 0.075, turn)


def rays(pen: Pen, rng: Random, paint: Paint, kind: str, count: float) -> None:
    """Rays of the sun: points, strokes, or none around its rings."""
    for number in range(int(count)):
        turn = math.degrees(2 * math.pi * (number + rng.uniform(-0.08, 0.08)) / count)
        if kind == "points":
            tip, spread = _around(turn, rng.uniform(0.44, 0.5)), math.degrees(0.16)
            pen.shape(paint, [_around(turn - spread, 0.32), tip, _around(turn + spread, 0.32)])
        elif kind == "strokes":
            ray = [_around(turn, 0.35), _around(turn, rng.uniform(0.42, 0.47))]
            pen.stroke(paint, 0.045, ray)


def craters(pen: Pen, rng: Random, paint: Paint) -> None:
    for _ in range(rng.randrange(4, 8)):
        place = _around(math.degrees(rng.uniform(0, 6.3)), rng.uniform(0.08, 0.34))
        pen.disc(paint, *place, rng.uniform(0.03, 0.09))


def crescent(pen: Pen, rng: Random, paint: Paint, bite: float) -> None:
    """The moon, with its shadow reaching in by ``bite``."""
    rim = [_around(turn, 0.48) for turn in range(55, 306, 10)]
    shadow = [_around(turn, -bite, 0.393) for turn in range(-90, 91, 10)]
    pen.shape(paint, rim + [(0.275 + x, y) for x, y in shadow])


def five_points(pen: Pen, rng: Random, paint: Paint, inner: float) -> None:
    pen.shape(
        paint, [_around(90 + 36 * number, inner if number % 2 else 0.5) for number in range(10)]
    )


def puffs(pen: Pen, rng: Random, color: Color, shade: Color) -> None:
    count, discs = rng.randrange(4, 7), []
    for number in range(count):
        along = (number + 0.5) / count * 2 - 1
        radius = rng.uniform(0.24, 0.32) + 0.17 * (1 - along * along)
        discs.append((along * 0.78, rng.uniform(0.3, 0.42), radius))
    base = [(-1.1, 0.16), (-0.9, 0.04), (0.9, 0.04), (1.1, 0.16), (0.8, 0.35), (-0.8, 0.35)]
    pen.blob(shade, base)
    for x, y, radius in discs:
        pen.disc(shade, x, y, radius, min(radius, y - 0.02))
    for x, y, radius in discs:
        pen.disc(color, x - 0.02, y + 0.08, radius * 0.9)


def peak(pen: Pen, rng: Random, color: Color, x: float, top: float, snowy: float) -> None:
    """A mountain with its left flank in the light."""
    color, summit = vary(rng, color, 8), (x, top)
    bends = (rng.uniform(-0.06, 0.02), rng.uniform(-0.02, 0.06))
    left = [(x - 0.75 * top, 0.0), (x - 0.4 * top + bends[0], top * 0.5), summit]
    right = [(x + 0.38 * top + bends[1], top * 0.5), (x + 0.75 * top, 0.0)]
    ridge = [
        (x + 0.02, top),
        (x + 0.07 * top, top * 0.72),
        (x - 0.02, top * 0.5),
        (x + 0.12 * top, top * 0.3),
        (x + 0.04, 0.0),
    ]
    pen.shape(color, left + right)
    pen.shape(lighter(color, 0.2), left + ridge)
    if snowy:
        cap = rng.uniform(0.68, 0.78)
        reach = 0.8 * (1 - cap) * top
        edge = [
            (x + reach * part, top * (cap + (0.06 if number % 2 else -0.04)))
            for number, part in enumerate((0.85, 0.45, 0.1, -0.3, -0.6, -0.85))
        ]
        pen.shape("#f7f8fc", [summit, *edge])
        pen.shape("#d9dfee", [summit, *edge[:3]])


def branches(pen: Pen, rng: Random, color: Color) -> None:
    """A coral of five forked branches."""
    for turn in (50, 70, 92, 112, 130):
        reach = rng.uniform(0.6, 0.9)
        x, y = _around(turn, reach * 0.6, reach, 0.0)
        pen.stroke(color, 0.1, [(0, 0.05), (x, y)])
        pen.stroke(color, 0.07, [(x * 0.6, y * 0.6), (x * 0.6 + 0.14, y * 0.85)])


def wedges(pen: Pen, rng: Random, color: Color) -> None:
    """Three segments of a ball."""
    for turn in (20, 140, 260):
        start = int(turn + rng.uniform(-10, 10))
        rim = [_around(angle, 0.48) for angle in range(start, start + 61, 10)]
        pen.shape(color, [(0.08, 0.58), *rim])


def _around(turn: float, wide: float, tall: float | None = None, y: float = 0.5) -> Point:
    """The point of an ellipse around (0, y) at an angle in degrees."""
    angle = math.radians(turn)
    return wide * math.cos(angle), y + (wide if tall is None else tall) * math.sin(angle)


def _arcs(
    right: float, left: float, y: float, tall: float, *, lowest: int
) -> tuple[list[Point], list[Point]]:
    """From the top down to an angle along one ellipse, and up again along another."""
    turns = range(90, lowest - 1, -15)
    down, up = [_around(turn, right, tall, y) for turn in turns], reversed(turns)
    return down, [_around(turn, left, tall, y) for turn in up]


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
