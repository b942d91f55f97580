"""Where a picture is set and at what hour: sky, land, light, and where things can stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from tagfill.scenes import land
from tagfill.scenes.color import Color, Light, parse, vary
from tagfill.scenes.pen import Pen
from tagfill.scenes.thing import Place

Span = tuple[float, float]
Hour = Literal["day", "dusk", "night"]


@dataclass(frozen=True)
class Environment:
    """A setting.

    Args:
        weight: how often it is drawn.
        horizon: range of the horizon's height, 0 at the top of the picture, 1 at the bottom.
        paint: paints everything below the sky.
        spans: where the feet of things of each place may be: 0 the horizon, 1 the lower edge.
        far_scale: size of things at the horizon in units of their size at the lower edge.
        fall: what may fall from the sky.
    """

    name: str
    weight: float
    horizon: Span
    paint: Callable[[Pen, Random, float], None]
    spans: Mapping[Place, Span] = field(default_factory=dict)
    far_scale: float = 0.42
    fall: Literal["none", "rain", "snow"] = "none"


_GROUND: dict[Place, Span] = {"ground": (0.08, 1.0), "walk": (0.08, 1.0)}

ENVIRONMENTS = (
    Environment("meadow", 0.2, (0.42, 0.58), land.meadow, _GROUND),
    Environment(
        "street",
        0.19,
        (0.42, 0.54),
        land.street,
        {"ground": (0.06, 0.44), "walk": (0.1, 1.0), "road": (0.5, 0.95)},
        fall="rain",
    ),
    Environment("forest", 0.13, (0.42, 0.56), land.forest, _GROUND, fall="rain"),
    Environment(
        "sea", 0.13, (0.4, 0.58), land.sea, {"water": (0.08, 1.0), "deep": (0.3, 1.0)}, fall="rain"
    ),
    Environment(
        "beach",
        0.11,
        (0.34, 0.48),
        land.beach,
        {"water": (0.08, 0.4), "ground": (0.5, 1.0), "walk": (0.48, 1.0)},
    ),
    Environment(
        "highlands",
        0.11,
        (0.48, 0.62),
        land.highlands,
        {"ground": (0.14, 1.0), "walk": (0.14, 1.0)},
    ),
    Environment("snow", 0.1, (0.42, 0.58), land.snow, _GROUND, fall="snow"),
    Environment(
        "reef",
        0.07,
        (0.2, 0.32),
        land.reef,
        {"water": (0.01, 0.03), "deep": (0.2, 0.86), "ground": (0.84, 1.0)},
        far_scale=0.8,
    ),
)

_SKIES: dict[Hour, tuple[tuple[str, ...], ...]] = {
    "day": (
        ("#6fb3e0", "#a9d5ee", "#e6f3f2"),
        ("#86c5e8", "#c4e3ee", "#fdf3dc"),
        ("#9db9d9", "#c9d8e6", "#eeeee8"),
        ("#7cc0cf", "#b5dfdf", "#f4f5dc"),
    ),
    "dusk": (
        ("#6a6fb0", "#d48fb0", "#f9c39a", "#ffe3b3"),
        ("#8a8fc9", "#e8a9b0", "#fbd3a4"),
        ("#5f86b8", "#c9a3c0", "#f7b58a", "#fcd9a0"),
    ),
    "night": (
        ("#141b3f", "#27376b", "#4a5d94"),
        ("#1b1a44", "#3a2f6b", "#6b5a96"),
        ("#0f2444", "#1f4468", "#3f7590"),
    ),
}
_TINTS: dict[Hour, Color] = {
    "day": (1.0, 1.0, 1.0),
    "dusk": (1.0, 0.87, 0.82),
    "night": (0.56, 0.62, 0.86),
}
_HOURS: dict[Hour, float] = {"day": 0.62, "dusk": 0.18, "night": 0.2}


@dataclass(frozen=True)
class Setting:
    """One environment at one hour.

    Args:
        sky: colors from the top of the picture to the horizon.
        horizon: its height, 0 at the top.
    """

    environment: Environment
    hour: Hour
    horizon: float
    sky: tuple[Color, ...]
    light: Light


def draw_setting(rng: Random, jitter: float) -> Setting:
    """Choose a setting; ``jitter`` (in levels of 255) spreads sky and light colors."""
    environment = rng.choices(ENVIRONMENTS, [environment.weight for environment in ENVIRONMENTS])[0]
    hour = rng.choices(list(_HOURS), list(_HOURS.values()))[0]
    sky = tuple(vary(rng, parse(code), jitter) for code in rng.choice(_SKIES[hour]))
    red, green, blue = (part * rng.uniform(1 - jitter / 200, 1.04) for part in _TINTS[hour])
    return Setting(
        environment=environment,
        hour=hour,
        horizon=rng.uniform(*environment.horizon),
        sky=sky,
        light=Light((red, green, blue), haze=sky[-1], night=hour == "night"),
    )
