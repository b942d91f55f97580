"""What can be in a picture, from ``things.toml``, and how a thing becomes a sprite."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from random import Random
from typing import Any, Literal

from PIL import Image

from tagfill.scenes.color import Light
from tagfill.scenes.drawing import load_drawings
from tagfill.scenes.pen import Pen

Place = Literal["heaven", "far", "sky", "ground", "walk", "road", "water", "deep"]
"""heaven: sun to clouds; far: behind the hills; sky: what flies; ground: what is rooted; walk: what
moves about on the ground; deep: below the surface."""
Hour = Literal["any", "day", "night"]
Draw = Callable[[Pen, Random], None]
"""Draws with y upwards: feet at y = 0, top at y = 1, x = 0 in the middle."""

_MARGIN = 0.08


@dataclass(frozen=True)
class Thing:
    """A kind of thing.

    Args:
        draw: the drawing, different for every random state.
        height: smallest and largest height in the foreground, in fractions of the picture.
        width: width of the drawing in units of its height.
        place: where in a picture it lives.
        lives: probability of being in a picture of each environment.
        many: how many there are where there are any.
        hour: when it can be seen.
        depth: how near it comes, 0 at the horizon, 1 at the lower edge (of ground and water).
        band: height of its center above the lower edge of the sky, 0..1 (of heaven and sky).
        tilt: largest turn in degrees.
        opacity: below 1 the background shines through.
        glow: color and radius, in units of its height, of the light around it.
        labeled: ``False`` for distractors, which never become a class.
    """

    name: str
    draw: Draw
    height: tuple[float, float]
    width: float
    place: Place
    lives: Mapping[str, float]
    many: tuple[int, int] = (1, 1)
    hour: Hour = "any"
    depth: tuple[float, float] = (0.15, 1.0)
    band: tuple[float, float] = (0.3, 1.0)
    tilt: float = 0.0
    opacity: float = 1.0
    glow: tuple[str, float] | None = None
    labeled: bool = True


_TABLE = tomllib.loads((files("tagfill.scenes") / "things.toml").read_text(encoding="utf-8"))


def _family(name: str, *, labeled: bool = True) -> tuple[Thing, ...]:
    drawings, things = load_drawings(name), []
    for thing, entry in _TABLE[name].items():
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()
        }
        things.append(Thing(name=thing, draw=drawings[thing], labeled=labeled, **fields))
    return tuple(things)


THINGS = sum((_family(name) for name in _TABLE if name != "clutter"), ())
"""Things with a label; overhead things in the order they are painted."""

CLUTTER = _family("clutter", labeled=False)
"""Distractors."""

CLASSES = tuple(sorted(thing.name for thing in THINGS))
"""The class names, in the order of every label vector."""


@dataclass(frozen=True)
class Sprite:
    """A drawn thing: its picture, and the offset of its upper left corner from its foot."""

    picture: Image.Image
    left: int
    top: int


def sprite(
    thing: Thing, rng: Random, height: float, *, tilt: float, flip: bool, light: Light
) -> Sprite:
    """Draw a thing ``height`` pixels high, with smooth edges.

    Drawn two to four times larger, then reduced; x is mirrored after the turn.
    """
    fold = 4 if height < 48 else 3 if height < 110 else 2
    cos, sin = math.cos(math.radians(tilt)), math.sin(math.radians(tilt))
    half_wide, half_tall = thing.width / 2 + _MARGIN, 0.5 + _MARGIN
    reach_x = height * (half_wide * abs(cos) + half_tall * abs(sin))
    reach_y = height * (half_wide * abs(sin) + half_tall * abs(cos))
    wide, tall = 2 * math.ceil(reach_x) + 2, 2 * math.ceil(reach_y) + 2
    zoom = height * fold
    mirror = -1.0 if flip else 1.0
    matrix = ((zoom * mirror * cos, -zoom * mirror * sin), (-zoom * sin, -zoom * cos))
    foot = (wide * fold / 2 - matrix[0][1] / 2, tall * fold / 2 - matrix[1][1] / 2)
    canvas = Image.new("RGBa", (wide * fold, tall * fold))
    thing.draw(Pen(canvas, matrix, foot, light), rng)
    return Sprite(canvas.reduce(fold).convert("RGBA"), -wide // 2, -round(tall / 2 + height / 2))
