"""Things that live: cat, dog, sheep, bird, butterfly, fish."""

from __future__ import annotations

import math
from random import Random

from tagfill.scenes.color import Color, darker, lighter, pick
from tagfill.scenes.pen import Pen, points

_EYE = "#2b2735"


def cat(pen: Pen, rng: Random) -> None:
    """A sitting cat with pointed ears, whiskers and a curled tail."""
    fur = pick(rng, "#d98a45", "#8d8a93", "#4a4653", "#ece2d3", "#a8795a")
    dark = darker(fur, 0.28)
    pen.curve([(0.2, 0.08), (0.42, 0.1), (0.45, 0.32), (0.34, 0.44)], 0.085, fur)
    pen.blob("-.26 .02  -.24 .3  -.12 .56  .12 .56  .26 .28  .28 .03  0 -.01", fur)
    pen.blob([(-0.1, 0.06), (-0.1, 0.36), (0, 0.45), (0.1, 0.36), (0.1, 0.06)], lighter(fur, 0.4))
    for side in (-1, 1):
        pen.disc(side * 0.1, 0.05, 0.075, lighter(fur, 0.3), tall=0.05)
        pen.shape([(side * 0.26, 0.68), (side * 0.25, 0.99), (side * 0.06, 0.87)], fur)
        pen.shape([(side * 0.22, 0.76), (side * 0.22, 0.92), (side * 0.12, 0.86)], "#e8a5a0")
    pen.disc(0, 0.69, 0.27, fur, tall=0.21)
    if rng.random() < 0.6:
        for x in (-0.07, 0.0, 0.07):
            pen.stroke([(x, 0.88), (x * 0.8, 0.79)], 0.028, dark)
        for y in (0.2, 0.32):
            pen.stroke([(0.25, y), (0.14, y + 0.03)], 0.03, dark)
    for side in (-1, 1):
        pen.disc(side * 0.11, 0.71, 0.05, "#f3efb8", tall=0.05)
        pen.disc(side * 0.11, 0.71, 0.022, _EYE, tall=0.045)
        for y in (0.59, 0.635):
            pen.stroke([(side * 0.09, 0.62), (side * 0.34, y)], 0.01, lighter(dark, 0.5))
    pen.shape([(-0.032, 0.65), (0.032, 0.65), (0, 0.615)], "#d9777a")


def dog(pen: Pen, rng: Random) -> None:
    """A standing dog with floppy ears, seen from the side."""
    fur = pick(rng, "#b9804d", "#e3c08b", "#6b4a3a", "#f0e9de", "#5a5560", "#cf9a5a")
    dark = darker(fur, 0.25)
    wag = rng.uniform(-0.1, 0.12)
    pen.curve([(-0.48, 0.5), (-0.62, 0.64), (-0.66 + wag, 0.84)], 0.075, fur)
    for x, color in ((-0.36, dark), (0.18, dark), (-0.44, fur), (0.26, fur)):
        pen.stroke([(x, 0.34), (x + 0.01, 0.06)], 0.11, color)
        pen.disc(x + 0.045, 0.04, 0.075, color, tall=0.045)
    pen.blob("-.54 .44  -.44 .6  -.1 .58  .24 .64  .36 .5  .3 .3  -.1 .29  -.48 .29", fur)
    pen.blob([(0.12, 0.52), (0.2, 0.84), (0.38, 0.96), (0.56, 0.84), (0.5, 0.6), (0.3, 0.48)], fur)
    pen.blob(".46 .84  .68 .75  .73 .66  .62 .6  .42 .62", lighter(fur, 0.25))
    pen.disc(0.7, 0.735, 0.045, _EYE)
    pen.disc(0.47, 0.81, 0.032, _EYE)
    pen.blob([(0.16, 0.9), (0.3, 0.94), (0.3, 0.74), (0.22, 0.54), (0.1, 0.62)], dark)
    if rng.random() < 0.5:
        pen.disc(-0.2, 0.48, 0.13, dark, tall=0.09)
    pen.stroke([(0.18, 0.53), (0.4, 0.49)], 0.05, pick(rng, "#d9483f", "#3f8fc0", "#f0b440"))


def sheep(pen: Pen, rng: Random) -> None:
    """A ball of wool with a dark face and thin legs."""
    wool = pick(rng, "#fbf6ea", "#f3ece0", "#e8e2da", "#fffdf6", amount=6)
    skin = pick(rng, "#4a4350", "#6b5648", "#39343f")
    for x in (-0.34, -0.18, 0.14, 0.28):
        pen.stroke([(x, 0.34), (x, 0.05)], 0.08, skin)
    middle = (-0.06, 0.58)
    for shift, color in ((-0.03, darker(wool, 0.14)), (0.02, wool)):
        pen.disc(middle[0], middle[1] + shift, 0.42, color, tall=0.28)
        for number in range(11):
            turn = 2 * math.pi * number / 11
            pen.disc(
                middle[0] + 0.4 * math.cos(turn),
                middle[1] + shift + 0.26 * math.sin(turn),
                0.13,
                color,
            )
    pen.disc(0.46, 0.66, 0.15, skin, tall=0.2, turn=20)
    pen.disc(0.33, 0.75, 0.12, skin, tall=0.05, turn=25)
    pen.disc(0.4, 0.84, 0.13, wool, tall=0.09)
    pen.disc(0.5, 0.7, 0.035, "#ffffff")
    pen.disc(0.51, 0.695, 0.018, _EYE)


def bird(pen: Pen, rng: Random) -> None:
    """A gliding gull or a plump song bird, wings up or down."""
    if rng.random() < 0.35:
        color = pick(rng, "#4a4c5c", "#f7f5f0", "#6a6f80")
        lift = rng.uniform(0.75, 0.95)
        for side in (-1, 1):
            pen.blob(
                f"0 .34  {side * 0.25} {lift}  {side * 0.5} {lift * 0.9}  {side * 0.82} .42  "
                f"{side * 0.45} {lift * 0.68}  {side * 0.2} .5  0 .2",
                color,
            )
        pen.disc(0, 0.3, 0.12, color, tall=0.09)
        return
    body = pick(rng, "#5b8fc7", "#d9604c", "#f0b848", "#6f6a78", "#58a06b", "#b36fae", "#8a6a52")
    belly, wing = lighter(body, 0.5), darker(body, 0.22)
    pen.shape([(-0.42, 0.46), (-0.84, 0.6), (-0.82, 0.34)], wing)
    pen.blob("-.52 .46  -.2 .66  .22 .66  .42 .5  .2 .24  -.2 .22", body)
    pen.blob([(-0.3, 0.36), (0.0, 0.44), (0.3, 0.4), (0.18, 0.25), (-0.14, 0.23)], belly)
    pen.disc(0.42, 0.62, 0.2, body)
    pen.shape([(0.58, 0.7), (0.83, 0.6), (0.58, 0.54)], "#f0a23c")
    pen.disc(0.48, 0.67, 0.038, _EYE)
    if rng.random() < 0.6:
        pen.blob([(-0.22, 0.5), (-0.36, 0.84), (-0.22, 1.0), (0.04, 0.84), (0.18, 0.54)], wing)
    else:
        pen.blob([(-0.2, 0.56), (0.16, 0.54), (0.0, 0.26), (-0.26, 0.02), (-0.3, 0.3)], wing)


def butterfly(pen: Pen, rng: Random) -> None:
    """Four wings with spots around a thin body."""
    wing = pick(rng, "#f2963f", "#6f8fdc", "#e86f9a", "#f2cf52", "#9a6fc8", "#59b0a8")
    spot, beat = lighter(wing, 0.55), rng.uniform(0.72, 1.0)
    for side in (-1, 1):
        reach = side * beat
        pen.blob(points("0 .52  .2 .92  .5 .97  .56 .7  .3 .5", wide=reach), wing)
        pen.blob(points("0 .48  .34 .46  .44 .22  .28 .05  .1 .2", wide=reach), darker(wing, 0.14))
        pen.disc(reach * 0.37, 0.78, 0.085 * beat, spot, tall=0.09)
        pen.disc(reach * 0.27, 0.27, 0.06 * beat, spot)
        pen.curve([(0, 0.72), (side * 0.06, 0.88), (side * 0.14, 0.96)], 0.02, "#4a3f4a")
    pen.disc(0, 0.5, 0.045, "#4a3f4a", tall=0.27)


def fish(pen: Pen, rng: Random) -> None:
    """An oval body, tail and fins, plain or striped."""
    scales = pick(rng, "#f0883c", "#f2c84b", "#e2607a", "#6f9fd8", "#7cc3a8", "#b07cc6", "#d9d4e0")
    fin = darker(scales, 0.2)
    slim = rng.uniform(0.3, 0.44)
    pen.blob([(-0.46, 0.5), (-0.84, 0.86), (-0.72, 0.5), (-0.84, 0.14)], fin)
    pen.blob([(-0.2, 0.5 + slim * 0.8), (0.05, 0.5 + slim + 0.06), (0.26, 0.5 + slim * 0.8)], fin)
    pen.blob([(-0.1, 0.5 - slim * 0.8), (-0.16, 0.45 - slim), (0.14, 0.5 - slim * 0.8)], fin)
    pen.blob(
        f"-.56 .5  -.2 {0.5 + slim * 0.86}  .28 {0.5 + slim * 0.9}  .66 .56  .66 .46  "
        f".28 {0.5 - slim * 0.9}  -.2 {0.5 - slim * 0.86}",
        scales,
    )
    if rng.random() < 0.55:
        band = lighter(scales, 0.7)
        for x, part in ((0.22, 0.88), (-0.06, 0.84), (-0.3, 0.55)):
            _fish_band(pen, x, slim * part, band)
    else:
        pen.blob(
            f"-.4 .46  .1 {0.5 - slim * 0.3}  .5 .44  .24 {0.5 - slim * 0.82}  "
            f"-.14 {0.5 - slim * 0.78}",
            lighter(scales, 0.4),
        )
    pen.blob([(0.1, 0.5), (-0.1, 0.58), (-0.16, 0.46), (-0.06, 0.38)], fin)
    pen.disc(0.46, 0.6, 0.075, "#ffffff")
    pen.disc(0.48, 0.6, 0.04, _EYE)


def _fish_band(pen: Pen, x: float, half: float, color: Color) -> None:
    pen.blob([(x, 0.5 + half), (x + 0.07, 0.5), (x, 0.5 - half), (x - 0.05, 0.5)], color)
