"""Colors as three floats in 0..255, and the light that falls on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from random import Random

Color = tuple[float, float, float]
Ink = tuple[int, int, int, int]
"""A final color, with opacity, as Pillow draws it."""
Paint = str | Color | Ink
"""A color as drawings name it: hex code or floats (both get lit), or ink (already final)."""


@cache
def parse(code: str) -> Color:
    red, green, blue = (int(code[at : at + 2], 16) for at in (1, 3, 5))
    return float(red), float(green), float(blue)


def as_color(paint: str | Color) -> Color:
    """A color from its hex code or itself."""
    return parse(paint) if isinstance(paint, str) else paint


def mix(first: str | Color, second: str | Color, share: float) -> Color:
    """``first`` with a share of ``second`` stirred in."""
    one, two = as_color(first), as_color(second)
    keep = 1.0 - share
    return (
        one[0] * keep + two[0] * share,
        one[1] * keep + two[1] * share,
        one[2] * keep + two[2] * share,
    )


def lighter(paint: str | Color, share: float) -> Color:
    """Towards a warm white."""
    return mix(paint, (255.0, 250.0, 238.0), share)


def darker(paint: str | Color, share: float) -> Color:
    """Towards a soft blue-black."""
    return mix(paint, (38.0, 34.0, 58.0), share)


def vary(rng: Random, paint: str | Color, amount: float) -> Color:
    """A color near the given one: common brightness shift plus a little per channel."""
    shift = rng.uniform(-amount, amount)
    red, green, blue = as_color(paint)
    half = amount / 2
    return (
        red + shift + rng.uniform(-half, half),
        green + shift + rng.uniform(-half, half),
        blue + shift + rng.uniform(-half, half),
    )


@dataclass(frozen=True)
class Light:
    """How the hour and the distance change a color.

    Args:
        tint: factor for each channel.
        haze: color of the air.
        haze_share: how much air lies between the thing and the eye, 0..1.
        night: lamps and windows shine.
    """

    tint: Color = (1.0, 1.0, 1.0)
    haze: Color = (235.0, 240.0, 245.0)
    haze_share: float = 0.0
    night: bool = False

    def through(self, haze_share: float) -> Light:
        """The same light seen through more air."""
        return Light(self.tint, self.haze, haze_share, self.night)

    def on(self, paint: Paint) -> Ink:
        """The ink a lit surface needs."""
        if isinstance(paint, str):
            color = parse(paint)
        elif len(paint) == 4:
            return paint
        else:
            color = paint
        lit = (color[0] * self.tint[0], color[1] * self.tint[1], color[2] * self.tint[2])
        return ink(mix(lit, self.haze, self.haze_share) if self.haze_share else lit)


def ink(paint: str | Color) -> Ink:
    """A final color that no light changes: lamps, the moon, lit windows."""
    red, green, blue = as_color(paint)
    return _byte(red), _byte(green), _byte(blue), 255


def _byte(value: float) -> int:
    return 0 if value < 0 else 255 if value > 255 else int(value + 0.5)
