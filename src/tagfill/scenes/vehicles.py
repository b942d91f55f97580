"""Things that carry people: car, bus, boat."""

from __future__ import annotations

from random import Random

from tagfill.scenes.color import Color, Paint, darker, ink, lighter, pick
from tagfill.scenes.pen import Pen, points

_BRIGHT = ("#d9503f", "#3f8fc0", "#f0b440", "#58a06b", "#e98bab", "#8bc0c8", "#f4efe4", "#7a6bb0")


def car(pen: Pen, rng: Random) -> None:
    """A saloon, a round little car or a pick-up, seen from the side."""
    color = pick(rng, *_BRIGHT)
    glass = _glass(pen)
    kind = rng.choice(("saloon", "round", "pickup"))
    if kind == "round":
        pen.blob("-.92 .2  -.86 .5  -.5 .82  0 .98  .45 .82  .72 .56  .95 .46  .96 .2", color)
        pen.blob([(-0.46, 0.56), (-0.36, 0.76), (-0.02, 0.86), (-0.02, 0.56)], glass)
        pen.blob([(0.06, 0.56), (0.06, 0.86), (0.36, 0.74), (0.5, 0.56)], glass)
    else:
        roof = (-0.5, 0.42) if kind == "saloon" else (0.0, 0.45)
        pen.shape(f"{roof[0] - 0.24} .5  {roof[0]} .96  {roof[1]} .96  {roof[1] + 0.26} .5", color)
        pen.blob("-.98 .24  -.97 .5  -.7 .58  .6 .57  .95 .47  .99 .24  0 .18", color)
        middle = (roof[0] + roof[1]) / 2
        pen.shape(
            f"{roof[0] - 0.12} .56  {roof[0] + 0.05} .87  {middle - 0.03} .87  {middle - 0.03} .56",
            glass,
        )
        pen.shape(
            f"{middle + 0.03} .56  {middle + 0.03} .87  {roof[1] - 0.04} .87  {roof[1] + 0.13} .56",
            glass,
        )
    pen.stroke([(-0.9, 0.27), (0.9, 0.27)], 0.07, darker(color, 0.25))
    pen.disc(0.93, 0.42, 0.055, ink("#fff1b0") if pen.night else "#fff4c9")
    pen.disc(-0.94, 0.43, 0.045, "#c43d3a")
    for x in (-0.56, 0.56):
        _wheel(pen, x, 0.21, 0.2)


def bus(pen: Pen, rng: Random) -> None:
    """A long coach or a double-decker with a row of windows."""
    color = pick(rng, "#d9503f", "#f0b440", "#3f8fc0", "#58a06b", "#e98bab")
    double = rng.random() < 0.4
    half, glass = (0.74 if double else 1.0), _glass(pen)
    pen.blob(
        f"{-half} .14  {-half} .5  {-half + 0.04} .97  0 1  {half - 0.04} .97  {half} .5  "
        f"{half} .14  0 .13",
        color,
    )
    rows = ((0.62, 0.86), (0.3, 0.5)) if double else ((0.5, 0.84),)
    panes = 4 if double else 5
    for low, high in rows:
        for number in range(panes):
            left = -half + 0.09 + number * (2 * half - 0.3) / panes
            pen.box(left, low, left + (2 * half - 0.3) / panes - 0.07, high, glass)
        pen.box(half - 0.16, low - 0.08, half - 0.03, high, glass)
    line = 0.56 if double else 0.4
    pen.box(-half + 0.01, line - 0.03, half - 0.01, line + 0.03, lighter(color, 0.6))
    pen.box(-half + 0.02, 0.14, half - 0.02, 0.2, darker(color, 0.3))
    pen.disc(half - 0.04, 0.26, 0.04, ink("#fff1b0") if pen.night else "#fff4c9")
    for x in (-half * 0.58, half * 0.58):
        _wheel(pen, x, 0.14, 0.14)


def boat(pen: Pen, rng: Random) -> None:
    """A sailing boat, a fishing boat or a steamer."""
    hull = pick(rng, "#c8573f", "#8a5a3c", "#3f6f97", "#f1ead9", "#4f8a74", "#2f4666")
    kind = rng.choice(("sail", "sail", "fishing", "steamer"))
    if kind == "sail":
        _sails(pen, rng)
        _hull(pen, hull, 0.46, 0.2)
    elif kind == "fishing":
        pen.stroke([(-0.12, 0.2), (-0.12, 0.86)], 0.024, "#6d4c3d")
        pen.stroke([(-0.12, 0.8), (-0.46, 0.3)], 0.012, "#6d4c3d")
        pen.box(0.02, 0.25, 0.3, 0.54, "#f7efdd")
        pen.box(-0.01, 0.53, 0.33, 0.58, pick(rng, *_BRIGHT))
        pen.box(0.07, 0.36, 0.15, 0.48, _glass(pen))
        pen.box(0.19, 0.36, 0.27, 0.48, _glass(pen))
        pen.shape([(-0.12, 0.86), (-0.12, 0.74), (0.04, 0.8)], pick(rng, *_BRIGHT))
        _hull(pen, hull, 0.56, 0.3)
    else:
        for x in (-0.13, 0.12):
            pen.box(x - 0.07, 0.5, x + 0.07, 0.84, "#d9503f")
            pen.box(x - 0.07, 0.77, x + 0.07, 0.86, "#3a3a46")
        pen.box(-0.36, 0.27, 0.36, 0.52, "#f7f2e6")
        for number in range(5):
            pen.disc(-0.26 + number * 0.13, 0.4, 0.035, _glass(pen))
        _hull(pen, hull, 0.58, 0.3)


def _sails(pen: Pen, rng: Random) -> None:
    cloth = pick(rng, "#fdf8ec", "#f4d7a1", "#e98b6b", "#f7f7fb", "#9cc7d8", amount=6)
    pen.stroke([(0, 0.15), (0, 0.98)], 0.022, "#6d4c3d")
    pen.blob([(0.03, 0.27), (0.42, 0.27), (0.33, 0.52), (0.05, 0.94)], cloth)
    pen.blob([(-0.04, 0.29), (-0.36, 0.3), (-0.24, 0.5), (-0.04, 0.84)], darker(cloth, 0.1))


def _hull(pen: Pen, color: Color, half: float, deck: float) -> None:
    pen.blob(
        f"{-half} {deck}  {-half * 0.72} .02  0 0  {half * 0.7} .02  "
        f"{half * 1.04} {deck + 0.02}  0 {deck - 0.03}",
        color,
    )
    pen.stroke(points("-.92 -.045  .93 -.035", y=deck, wide=half), 0.028, lighter(color, 0.55))
    pen.blob(
        points("-.76 .07  -.7 .015  0 -.005  .7 .015  .78 .07  0 .05", wide=half),
        darker(color, 0.3),
    )


def _wheel(pen: Pen, x: float, y: float, radius: float) -> None:
    pen.disc(x, y, radius, "#33333f")
    pen.disc(x, y, radius * 0.5, "#cfcfd6")
    pen.disc(x, y, radius * 0.2, "#6d6d78")


def _glass(pen: Pen) -> Paint:
    return ink("#f3d98a") if pen.night else "#bfe0ea"
