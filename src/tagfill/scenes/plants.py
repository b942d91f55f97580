"""Things that grow: tree, pine, flower, mushroom."""

from __future__ import annotations

import math
from random import Random

from tagfill.scenes.color import darker, lighter, pick, vary
from tagfill.scenes.pen import Pen, points

_BARK = ("#8a5f3f", "#74523c", "#96704c")


def tree(pen: Pen, rng: Random) -> None:
    """A trunk under a round, oval or spreading crown, sometimes with fruit."""
    bark = pick(rng, *_BARK)
    leaf = pick(
        rng,
        "#6fa556",
        "#5b9556",
        "#86b35a",
        "#4f8a62",
        "#9fb24f",
        "#d98e3c",
        "#e3b04b",
        "#e59aa8",
        amount=14,
    )
    low = rng.uniform(0.26, 0.36)
    pen.shape([(-0.07, 0), (0.07, 0), (0.045, low + 0.2), (-0.045, low + 0.2)], bark)
    pen.stroke([(0.0, low), (0.14, low + 0.16)], 0.035, bark)
    wide = rng.uniform(0.24, 0.34)
    middle, tall = (low + 1.0) / 2, (1.0 - low) / 2
    puffs = [
        (wide * 0.72 * math.cos(turn), middle + (tall - 0.17) * math.sin(turn))
        for turn in (6.283 * number / 7 + rng.uniform(-0.2, 0.2) for number in range(7))
    ]
    for shift, size, color in ((0.0, 0.17, darker(leaf, 0.18)), (0.02, 0.15, leaf)):
        pen.disc(0, middle + shift, wide, color, tall=tall * 0.8)
        for x, y in puffs:
            pen.disc(x, y + shift, size, color)
    for x, y in puffs[:5]:
        pen.disc(x * 0.75 - 0.04, y * 0.85 + 0.15 * middle + 0.07, 0.07, lighter(leaf, 0.18))
    if rng.random() < 0.25:
        fruit = pick(rng, "#d9483b", "#f2c14e", "#f4f1ea")
        for x, y in puffs:
            pen.disc(x * 0.7, y * 0.8 + 0.2 * middle, 0.032, fruit)


def pine(pen: Pen, rng: Random) -> None:
    """Three to five tiers of branches, some with snow."""
    leaf = pick(rng, "#3f7a5a", "#356b5c", "#4c8567", "#2f6350", "#5a8a6b", amount=10)
    pen.box(-0.045, 0, 0.045, 0.2, pick(rng, *_BARK))
    tiers, half = rng.randrange(3, 6), rng.uniform(0.22, 0.29)
    snowy = rng.random() < 0.25
    for number in range(tiers):
        low = 0.12 + 0.68 * number / tiers
        high = min(1.0, low + 0.95 / tiers + 0.12)
        wide = half * (1 - number / (tiers + 0.6))
        shade = lighter(leaf, 0.05 * number)
        pen.shape(
            f"{-wide} {low}  {-wide * 0.4} {low - 0.03}  {wide * 0.4} {low - 0.03}  "
            f"{wide} {low}  0 {high}",
            shade,
        )
        pen.shape([(wide * 0.1, low - 0.02), (wide, low), (0, high)], darker(shade, 0.17))
        if snowy:
            pen.shape(
                f"{-wide * 0.5} {(low + high) / 2}  {-wide * 0.1} {(low + high) / 2 - 0.03}  "
                f"{wide * 0.45} {(low + high) / 2}  0 {high}",
                "#f2f6fb",
            )


def flower(pen: Pen, rng: Random) -> None:
    """A daisy or a tulip on a leafy stem."""
    stem = pick(rng, "#5f9a4c", "#6fa84f", "#4d8a55")
    color = pick(rng, "#e8637a", "#f3a73f", "#f6f3ee", "#a06cc4", "#e9574f", "#f2d04e", "#6f8fd8")
    lean = rng.uniform(-0.06, 0.06)
    pen.curve([(0, 0), (lean * 0.3, 0.35), (lean, 0.74)], 0.045, stem)
    for side in (-1, 1):
        at = rng.uniform(0.12, 0.3)
        pen.blob(points("0 0  .13 .1  .24 .19  .1 .16", y=at, wide=side), stem)
    if rng.random() < 0.3:
        pen.blob(points("-.13 .72  0 .62  .13 .72  .15 .95  -.15 .95", x=lean), darker(color, 0.1))
        for x in (-0.1, 0.0, 0.1):
            pen.blob(
                f"{lean + x * 0.6} .64  {lean + x + 0.07} .82  {lean + x} .98  "
                f"{lean + x - 0.07} .82",
                color if x else lighter(color, 0.15),
            )
        return
    petals, length = rng.randrange(5, 9), rng.uniform(0.1, 0.125)
    start = rng.uniform(0, 360)
    for number in range(petals):
        turn = start + 360 * number / petals
        reach = math.radians(turn)
        pen.disc(
            lean + 0.13 * math.cos(reach),
            0.75 + 0.13 * math.sin(reach),
            length,
            vary(rng, color, 6),
            tall=0.075,
            turn=turn,
        )
    pen.disc(lean, 0.75, 0.085, pick(rng, "#f6c945", "#8a5a35", "#f7e08a"))


def mushroom(pen: Pen, rng: Random) -> None:
    """A spotted cap on a pale stem."""
    cap = pick(rng, "#d8453e", "#c0573b", "#b98552", "#d98b3a")
    pen.blob("-.14 0  .14 0  .11 .3  .12 .58  -.12 .58  -.11 .3", "#f3e8d2")
    pen.disc(0, 0.5, 0.2, "#dcc9a8", tall=0.05)
    droop = rng.uniform(0.42, 0.5)
    pen.blob(f"-.48 {droop}  -.4 .74  -.18 .95  .18 .95  .4 .74  .48 {droop}  0 .52", cap)
    pen.blob([(-0.36, 0.72), (-0.16, 0.92), (0.02, 0.93), (-0.14, 0.82)], lighter(cap, 0.25))
    if rng.random() < 0.8:
        for x, y, size in (
            (-0.26, 0.62, 0.06),
            (0.02, 0.74, 0.075),
            (0.27, 0.62, 0.055),
            (-0.1, 0.88, 0.04),
            (0.2, 0.84, 0.045),
        ):
            pen.disc(x + rng.uniform(-0.03, 0.03), y, size, "#fdf6e6")
