"""Distractors: things without a label that look a little like things with one."""

from __future__ import annotations

import math
from random import Random

from tagfill.scenes.color import darker, ink, lighter, pick
from tagfill.scenes.pen import Pen


def bush(pen: Pen, rng: Random) -> None:
    """A low heap of leaves."""
    leaf = pick(rng, "#6b9c55", "#58895a", "#86a85c", "#4c7a58", "#a9a558")
    for number in range(5):
        x = (number - 2) * 0.33
        pen.disc(x, 0.36, rng.uniform(0.26, 0.34), darker(leaf, 0.15))
        pen.disc(x - 0.03, rng.uniform(0.46, 0.64), rng.uniform(0.2, 0.3), leaf)
    if rng.random() < 0.3:
        for _ in range(6):
            pen.disc(rng.uniform(-0.6, 0.6), rng.uniform(0.2, 0.6), 0.05, "#d9605a")


def stone(pen: Pen, rng: Random) -> None:
    """A gray boulder."""
    gray = pick(rng, "#9a979b", "#86878f", "#aaa196", "#77757f")
    pen.blob(
        f"-.8 .05  -.62 .6  -.1 {rng.uniform(0.8, 0.98)}  .5 {rng.uniform(0.6, 0.85)}  .82 .08  "
        "0 0",
        gray,
    )
    pen.blob([(-0.5, 0.5), (-0.1, 0.82), (0.25, 0.72), (-0.1, 0.6)], lighter(gray, 0.3))


def fence(pen: Pen, rng: Random) -> None:
    """Pales and two rails."""
    wood = pick(rng, "#c9a57a", "#f3ede0", "#a07c58")
    for y in (0.35, 0.7):
        pen.stroke([(-1.2, y), (1.2, y)], 0.09, darker(wood, 0.15))
    for number in range(6):
        x = -1.1 + number * 0.44
        pen.shape([(x - 0.1, 0), (x + 0.1, 0), (x + 0.1, 0.86), (x, 0.99), (x - 0.1, 0.86)], wood)


def puddle(pen: Pen, rng: Random) -> None:
    """Water on the ground, with a glint."""
    pen.blob(f"-1.4 .4  -.8 .8  .2 {rng.uniform(0.8, 0.98)}  1.4 .6  .9 .2  -.4 .05", "#8fb6cc")
    pen.stroke([(-0.5, 0.6), (0.3, 0.66)], 0.09, "#d5e8f0")


def stump(pen: Pen, rng: Random) -> None:
    """What is left of a tree."""
    bark = pick(rng, "#8a5f3f", "#74523c", "#96704c")
    pen.blob("-.52 0  -.36 .3  -.36 .85  .36 .85  .36 .3  .52 0", bark)
    pen.disc(0, 0.84, 0.37, lighter(bark, 0.4), tall=0.13)
    pen.disc(0, 0.84, 0.2, bark, tall=0.06)


def lamp(pen: Pen, rng: Random) -> None:
    """A street lamp, lit at night."""
    iron = pick(rng, "#3f4652", "#50585f", "#5b4a48")
    pen.stroke([(0, 0.0), (0, 0.84)], 0.028, iron)
    pen.box(-0.05, 0, 0.05, 0.06, iron)
    pen.shape("-.05 .82  .05 .82  .085 .94  -.085 .94", ink("#ffe08a") if pen.night else "#f4efd8")
    pen.shape([(-0.1, 0.935), (0.1, 0.935), (0, 1.0)], iron)


def sign(pen: Pen, rng: Random) -> None:
    """A round or three-cornered board on a post."""
    pen.stroke([(0, 0), (0, 0.7)], 0.05, "#8d8f98")
    board = pick(rng, "#d9503f", "#3f7fb8", "#f0b440")
    if rng.random() < 0.5:
        pen.disc(0, 0.79, 0.2, board)
        pen.disc(0, 0.79, 0.13, "#f7f4ec")
    else:
        pen.shape([(-0.23, 0.62), (0.23, 0.62), (0, 0.99)], board)
        pen.shape([(-0.13, 0.67), (0.13, 0.67), (0, 0.88)], "#f7f4ec")


def hay(pen: Pen, rng: Random) -> None:
    """A rolled bale."""
    straw = pick(rng, "#e0bb62", "#d3a94f", "#e8c97a")
    pen.disc(0, 0.5, 0.5, straw)
    for radius in (0.37, 0.23, 0.1):
        pen.arc((0, 0.5), radius, (rng.uniform(0, 90), 330), 0.04, darker(straw, 0.2))


def seaweed(pen: Pen, rng: Random) -> None:
    """Ribbons swaying from the ground."""
    green = pick(rng, "#4f9a6b", "#3f7f72", "#8aa84f", "#a3586a")
    for _ in range(rng.randrange(3, 6)):
        x, lean, top = rng.uniform(-0.16, 0.16), rng.uniform(-0.12, 0.12), rng.uniform(0.6, 0.95)
        pen.curve(
            f"{x * 0.4} 0  {x + lean} {top * 0.3}  {x - lean} {top * 0.65}  {x + lean} {top}",
            0.055,
            green,
        )


def coral(pen: Pen, rng: Random) -> None:
    """A branching or round coral."""
    color = pick(rng, "#e8798a", "#f0a36b", "#c98bd0", "#f2cf7a")
    if rng.random() < 0.5:
        for turn in (50, 70, 92, 112, 130):
            reach = rng.uniform(0.6, 0.9)
            x, y = reach * 0.6 * math.cos(math.radians(turn)), reach * math.sin(math.radians(turn))
            pen.stroke([(0, 0.05), (x, y)], 0.1, color)
            pen.stroke([(x * 0.6, y * 0.6), (x * 0.6 + 0.14, y * 0.85)], 0.07, color)
        return
    pen.blob([(-0.45, 0.02), (-0.42, 0.45), (0, 0.75), (0.42, 0.45), (0.45, 0.02)], color)
    for _ in range(7):
        pen.disc(rng.uniform(-0.28, 0.28), rng.uniform(0.15, 0.5), 0.045, lighter(color, 0.4))


def bubbles(pen: Pen, rng: Random) -> None:
    """A rising string of air."""
    for number in range(rng.randrange(3, 6)):
        size = rng.uniform(0.05, 0.11)
        y = 0.1 + number * 0.19
        x = rng.uniform(-0.12, 0.12)
        pen.disc(x, y, size, "#cfeef2")
        pen.disc(x, y, size * 0.72, "#8fcbd8")


def buoy(pen: Pen, rng: Random) -> None:
    """A striped float."""
    color = pick(rng, "#d9503f", "#f0b440", "#58a06b")
    pen.shape([(-0.3, 0.08), (0.3, 0.08), (0.12, 0.8), (-0.12, 0.8)], color)
    pen.shape([(-0.24, 0.32), (0.24, 0.32), (0.18, 0.55), (-0.18, 0.55)], "#fbf6ea")
    pen.disc(0, 0.88, 0.1, darker(color, 0.2))


def ball(pen: Pen, rng: Random) -> None:
    """A beach ball."""
    first, second = pick(rng, "#d9503f", "#3f7fb8", "#f0b440"), "#fbf6ea"
    pen.disc(0, 0.5, 0.49, second)
    for turn in (20, 140, 260):
        start = turn + rng.uniform(-10, 10)
        rim = [
            (0.48 * math.cos(math.radians(angle)), 0.5 + 0.48 * math.sin(math.radians(angle)))
            for angle in range(int(start), int(start) + 61, 10)
        ]
        pen.shape([(0.08, 0.58), *rim], first)


def grass(pen: Pen, rng: Random) -> None:
    """A tuft of tall grass."""
    green = pick(rng, "#6f9f52", "#8fb45c", "#5b8a58", "#c2b566")
    for number in range(7):
        x = (number - 3) * 0.11
        pen.curve([(x * 0.5, 0), (x, 0.5), (x * 1.9, rng.uniform(0.6, 0.95))], 0.05, green)
