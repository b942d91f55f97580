"""People and what they bring along: person, umbrella, snowman."""

from __future__ import annotations

import math
from random import Random

from tagfill.scenes.color import darker, lighter, pick
from tagfill.scenes.pen import Pen

_CLOTH = ("#d9503f", "#3f7fb8", "#f0b440", "#5a9a68", "#a06cc4", "#e98bab", "#3f4a68", "#f3ede0")


def person(pen: Pen, rng: Random) -> None:
    """Somebody in a coat or a dress, bareheaded or in a hat."""
    skin = pick(rng, "#f1c9a5", "#d9a074", "#a86f4a", "#6f4a35", "#f6d7bd", amount=8)
    hair = pick(rng, "#3a2b28", "#7a4b2c", "#d9a54c", "#a8482f", "#8d8a93")
    top, legs = pick(rng, *_CLOTH), pick(rng, "#3f4a68", "#5a4a48", "#7a6b58", "#2f3a4a")
    stride = rng.uniform(0.03, 0.07)
    for side in (-1, 1):
        pen.stroke([(side * 0.045, 0.36), (side * stride, 0.05)], 0.07, legs)
        pen.disc(side * stride + 0.02, 0.022, 0.055, darker(legs, 0.4), tall=0.025)
    _arms(pen, rng, darker(top, 0.12), skin)
    if rng.random() < 0.45:
        pen.blob("-.06 .72  .06 .72  .1 .5  .18 .24  0 .21  -.18 .24  -.1 .5", top)
        pen.blob("0 .23  .18 .25  .16 .29  -.16 .29  -.18 .25", lighter(top, 0.4))
    else:
        pen.blob("-.08 .72  .08 .72  .12 .56  .115 .34  0 .32  -.115 .34  -.12 .56", top)
    pen.box(-0.03, 0.7, 0.03, 0.76, darker(skin, 0.1))
    if rng.random() < 0.4:
        pen.blob([(-0.12, 0.9), (-0.15, 0.68), (0.0, 0.72), (0.15, 0.68), (0.12, 0.9)], hair)
    pen.disc(0, 0.835, 0.105, skin, tall=0.115)
    pen.blob("-.115 .84  -.1 .95  0 .985  .1 .95  .115 .84  .04 .9", hair)
    if rng.random() < 0.35:
        hat = pick(rng, *_CLOTH)
        pen.disc(0, 0.91, 0.16, hat, tall=0.028)
        pen.blob([(-0.09, 0.91), (-0.08, 0.985), (0.08, 0.985), (0.09, 0.91)], hat)
    for side in (-1, 1):
        pen.disc(side * 0.04, 0.835, 0.014, "#2b2735")
        pen.disc(side * 0.065, 0.795, 0.02, "#e8928a", tall=0.014)


def _arms(
    pen: Pen, rng: Random, sleeve: tuple[float, float, float], skin: tuple[float, float, float]
) -> None:
    for side in (-1, 1):
        raised = rng.random() < 0.25
        hand = (side * 0.23, 0.84) if raised else (side * rng.uniform(0.15, 0.22), 0.43)
        elbow = (side * 0.19, 0.62) if raised else (side * 0.16, 0.56)
        pen.curve([(side * 0.07, 0.69), elbow, hand], 0.06, sleeve)
        pen.disc(hand[0], hand[1], 0.034, skin)


def umbrella(pen: Pen, rng: Random) -> None:
    """A striped canopy on a pole."""
    first = pick(rng, *_CLOTH)
    second = (
        pick(rng, "#fdf6e6", "#f7d98b", "#bfe0ea") if rng.random() < 0.7 else lighter(first, 0.25)
    )
    pen.stroke([(0, 0.0), (0, 0.9)], 0.035, "#8a6a50")
    ribs = 6
    for number in range(ribs):
        edge = 0.5 - number / ribs
        outline = [
            (edge * math.sin(turn), 0.56 + 0.38 * math.cos(turn))
            for turn in (math.radians(angle) for angle in range(0, 91, 15))
        ]
        rest = [
            (-0.5 * math.sin(turn), 0.56 + 0.38 * math.cos(turn))
            for turn in (math.radians(angle) for angle in range(90, -1, -15))
        ]
        pen.shape(outline + rest, first if number % 2 == 0 else second)
    for number in range(ribs):
        middle = -0.5 + (number + 0.5) / ribs
        color = second if number % 2 == 0 else first
        pen.disc(middle, 0.56, 0.5 / ribs, darker(color, 0.12), tall=0.045)
    pen.stroke([(0, 0.93), (0, 0.98)], 0.03, "#8a6a50")


def snowman(pen: Pen, rng: Random) -> None:
    """Two or three balls of snow, a carrot, a hat and a scarf."""
    snow, shade = "#fbfdff", "#d5e0ee"
    scarf = pick(rng, *_CLOTH)
    for side in (-1, 1):
        reach = rng.uniform(0.55, 0.72)
        pen.stroke([(side * 0.16, 0.5), (side * 0.37, reach)], 0.022, "#6d4c3d")
        pen.stroke([(side * 0.3, reach - 0.07), (side * 0.39, reach - 0.06)], 0.018, "#6d4c3d")
    for y, radius in ((0.21, 0.22), (0.5, 0.17), (0.735, 0.125)):
        pen.disc(0, y, radius, shade)
        pen.disc(-0.018, y + 0.018, radius * 0.91, snow)
    pen.blob("-.12 .645  0 .61  .12 .645  .12 .685  0 .655  -.12 .685", scarf)
    pen.shape([(0.05, 0.64), (0.11, 0.65), (0.14, 0.46), (0.08, 0.46)], darker(scarf, 0.12))
    for y in (0.42, 0.5, 0.57):
        pen.disc(0, y, 0.018, "#3a3a46")
    for side in (-1, 1):
        pen.disc(side * 0.045, 0.77, 0.018, "#2b2735")
    pen.shape([(0.0, 0.75), (0.0, 0.715), (0.17, 0.72)], "#ee8a3c")
    if rng.random() < 0.6:
        pen.box(-0.16, 0.82, 0.16, 0.85, "#3a3a4a")
        pen.box(-0.1, 0.84, 0.1, 0.985, "#3a3a4a")
        pen.box(-0.1, 0.85, 0.1, 0.885, scarf)
    else:
        pen.blob([(-0.14, 0.81), (-0.09, 0.93), (0, 0.96), (0.09, 0.93), (0.14, 0.81)], scarf)
        pen.disc(0, 0.96, 0.035, lighter(scarf, 0.6))
