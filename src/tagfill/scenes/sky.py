"""Things overhead: sun, moon, star, cloud, rainbow, balloon, kite, and the far mountains."""

from __future__ import annotations

import math
from random import Random

from tagfill.scenes.color import Color, darker, ink, lighter, pick, vary
from tagfill.scenes.pen import Pen, Point, points


def sun(pen: Pen, rng: Random) -> None:
    """A warm disc with pointed, round or no rays."""
    color = pick(rng, "#ffcf4a", "#ffb93c", "#ffdc6b", "#ff9f4a", amount=8)
    kind, count = rng.choice(("points", "strokes", "rings")), rng.randrange(9, 15)
    radius = 0.44 if kind == "rings" else 0.29
    if kind == "rings":
        pen.disc(0, 0.5, 0.5, ink(lighter(color, 0.65)))
    for number in range(count):
        angle = 2 * math.pi * (number + rng.uniform(-0.08, 0.08)) / count
        if kind == "points":
            pen.shape(
                [
                    _around(angle - 0.16, 0.32),
                    _around(angle, rng.uniform(0.44, 0.5)),
                    _around(angle + 0.16, 0.32),
                ],
                ink(color),
            )
        elif kind == "strokes":
            ray = [_around(angle, 0.35), _around(angle, rng.uniform(0.42, 0.47))]
            pen.stroke(ray, 0.045, ink(color))
    pen.disc(0, 0.5, radius, ink(color))
    pen.disc(-0.03, 0.53, radius * 0.8, ink(lighter(color, 0.3)))


def moon(pen: Pen, rng: Random) -> None:
    """A crescent, or a full moon with craters."""
    color = pick(rng, "#f6efcf", "#fbf3da", "#efe6c2", amount=6)
    if rng.random() < 0.35:
        pen.disc(0, 0.5, 0.48, ink(color))
        for _ in range(rng.randrange(4, 8)):
            x, y = _around(rng.uniform(0, 6.3), rng.uniform(0.08, 0.34))
            pen.disc(x, y, rng.uniform(0.03, 0.09), ink(darker(color, 0.16)))
        return
    bite = rng.uniform(0.1, 0.3)
    rim = [_around(math.radians(turn), 0.48) for turn in range(55, 306, 10)]
    hollow = [
        (0.275 - bite * math.cos(math.radians(turn)), 0.5 + 0.393 * math.sin(math.radians(turn)))
        for turn in range(-90, 91, 10)
    ]
    pen.shape(rim + hollow, ink(color))


def star(pen: Pen, rng: Random) -> None:
    """Five points, fat or slender."""
    color = pick(rng, "#ffe9a3", "#fff3c4", "#ffdf80", amount=6)
    inner = rng.uniform(0.2, 0.26)
    corners = [
        _around(math.pi / 2 + number * math.pi / 5, 0.5 if number % 2 == 0 else inner)
        for number in range(10)
    ]
    pen.shape(corners, ink(color))


def cloud(pen: Pen, rng: Random) -> None:
    """Puffs on a flat base, brighter above."""
    color = pick(rng, "#fbfbff", "#f4f1f8", "#ffffff", "#e3e6f0", "#d3d9e6", amount=5)
    puffs = []
    count = rng.randrange(4, 7)
    for number in range(count):
        along = (number + 0.5) / count * 2 - 1
        radius = rng.uniform(0.24, 0.32) + 0.17 * (1 - along * along)
        puffs.append((along * 0.78, rng.uniform(0.3, 0.42), radius))
    shade = darker(color, 0.12)
    pen.blob("-1.1 .16  -.9 .04  .9 .04  1.1 .16  .8 .35  -.8 .35", shade)
    for x, y, radius in puffs:
        pen.disc(x, y, radius, shade, tall=min(radius, y - 0.02))
    for x, y, radius in puffs:
        pen.disc(x - 0.02, y + 0.08, radius * 0.9, color)


def rainbow(pen: Pen, rng: Random) -> None:
    """Six bands of a half circle."""
    bands = ("#e8595b", "#f39a4c", "#f6d85b", "#7cc46d", "#5aa2df", "#9a78cf")
    width = rng.uniform(0.045, 0.065)
    for number, color in enumerate(bands):
        pen.arc((0, 0), 0.97 - width * number, (0, 180), width * 1.06, color)


def mountain(pen: Pen, rng: Random) -> None:
    """One or two peaks with a shaded flank and snow on top."""
    color = pick(rng, "#8792b5", "#7c8ba3", "#9a8fa8", "#8a9aa0", "#a58e83", amount=10)
    peaks = [(rng.uniform(-0.12, 0.12), 1.0)]
    if rng.random() < 0.55:
        peaks.insert(0, (rng.choice((-0.45, 0.45)), rng.uniform(0.55, 0.75)))
    snowy = rng.random() < 0.8
    for x, top in peaks:
        _peak(pen, rng, x, top, vary(rng, color, 8), snowy)


def _peak(pen: Pen, rng: Random, x: float, top: float, color: Color, snowy: bool) -> None:
    left, right = x - 0.75 * top, x + 0.75 * top
    ridge = [
        (x + 0.02, top),
        (x + 0.07 * top, top * 0.72),
        (x - 0.02, top * 0.5),
        (x + 0.12 * top, top * 0.3),
        (x + 0.04, 0.0),
    ]
    slope = (rng.uniform(-0.06, 0.02), rng.uniform(-0.02, 0.06))
    body = [
        (left, 0.0),
        (x - 0.4 * top + slope[0], top * 0.5),
        (x, top),
        (x + 0.38 * top + slope[1], top * 0.5),
        (right, 0.0),
    ]
    pen.shape(body, color)
    pen.shape([body[0], body[1], body[2], *ridge], lighter(color, 0.2))
    if snowy:
        cap = rng.uniform(0.68, 0.78)
        reach = 0.8 * (1 - cap) * top
        lower = [
            (x + reach * part, top * (cap + (0.06 if number % 2 else -0.04)))
            for number, part in enumerate((0.85, 0.45, 0.1, -0.3, -0.6, -0.85))
        ]
        pen.shape([(x, top), *lower], "#f7f8fc")
        pen.shape([(x, top), *lower[:3]], "#d9dfee")


def balloon(pen: Pen, rng: Random) -> None:
    """A hot-air balloon with colored gores and a basket."""
    first = pick(rng, "#e4604e", "#3f8fbf", "#7b5ea7", "#e59a3c", "#4f9d69", "#d9588a")
    second = pick(rng, "#fbe7b2", "#ffffff", "#f8c45c", "#bfe0ea", amount=6)
    gores = rng.choice((5, 7, 9))
    for number in range(gores):
        edge = 1 - 2 * number / gores
        _gore(pen, edge, first if number % 2 == 0 else second)
    _gore(pen, -1 + 2 / gores, darker(first, 0.15))
    for x in (-0.075, 0.075):
        pen.stroke([(x * 1.9, 0.33), (x, 0.14)], 0.014, "#6b5a4a")
    pen.shape([(-0.09, 0.14), (0.09, 0.14), (0.07, 0.01), (-0.07, 0.01)], "#a9743f")
    pen.box(-0.1, 0.12, 0.1, 0.155, "#7f5430")


def _gore(pen: Pen, edge: float, color: Color) -> None:
    right = [
        (0.36 * edge * math.cos(turn), 0.64 + 0.35 * math.sin(turn))
        for turn in (math.radians(angle) for angle in range(90, -31, -15))
    ]
    left = [
        (-0.36 * math.cos(math.radians(angle)), 0.64 + 0.35 * math.sin(math.radians(angle)))
        for angle in range(-30, 91, 15)
    ]
    pen.shape([*right, (0.16 * edge, 0.31), (-0.16, 0.31), *left], color)


def kite(pen: Pen, rng: Random) -> None:
    """A diamond of four colors with a tail of bows."""
    first = pick(rng, "#e9574f", "#f2b43d", "#4aa3c7", "#8b62b5", "#5bb071", "#ee7aa0")
    second = pick(rng, "#fff1c9", "#ffd97a", "#a8dadc", "#f7b2ad", amount=8)
    top, low, left, right, cross = (0, 1.0), (0, 0.42), (-0.24, 0.76), (0.24, 0.76), (0, 0.76)
    for corners, color in (
        ((top, left, cross), first),
        ((top, right, cross), second),
        ((low, left, cross), second),
        ((low, right, cross), darker(first, 0.12)),
    ):
        pen.shape(corners, color)
    sway = rng.choice((-1, 1)) * rng.uniform(0.06, 0.12)
    tail = [(0, 0.42), (sway, 0.32), (-sway, 0.2), (sway, 0.1), (-sway * 0.4, 0.02)]
    pen.curve(tail, 0.016, darker(second, 0.35))
    for x, y in tail[1:4]:
        pen.shape(points("-.06 .03  -.06 -.03  .06 .03  .06 -.03", x=x, y=y), first)


def _around(angle: float, radius: float) -> Point:
    return radius * math.cos(angle), 0.5 + radius * math.sin(angle)
