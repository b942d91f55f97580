"""Where a picture is set and at what hour: sky, land, light, and where things can stand."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from random import Random
from typing import Literal

from tagfill.scenes.color import Color, Light, parse, vary
from tagfill.scenes.drawing import Drawing, load_drawings
from tagfill.scenes.things import Place

Span = tuple[float, float]
Hour = Literal["day", "dusk", "night"]


@dataclass(frozen=True)
class Environment:
    """A setting.

    Args:
        land: everything below the sky.
        weight: how often it is drawn.
        horizon: range of the horizon's height, 0 at the top of the picture, 1 at the bottom.
        spans: where the feet of things of each place may be: 0 the horizon, 1 the lower edge.
        far_scale: size of things at the horizon in units of their size at the lower edge.
        fall: what may fall from the sky.
    """

    name: str
    land: Drawing
    weight: float
    horizon: Span
    spans: Mapping[Place, Span]
    far_scale: float = 0.42
    fall: Literal["none", "rain", "snow"] = "none"


_TABLE = tomllib.loads((files("tagfill.scenes") / "environments.toml").read_text(encoding="utf-8"))
_HOURS = _TABLE["hours"]
_LAND = load_drawings("land")
ENVIRONMENTS = tuple(
    Environment(name, _LAND[name], **fields) for name, fields in _TABLE["environments"].items()
)


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
    hour = rng.choices(list(_HOURS), [entry["weight"] for entry in _HOURS.values()])[0]
    sky = tuple(vary(rng, parse(code), jitter) for code in rng.choice(_HOURS[hour]["skies"]))
    red, green, blue = (part * rng.uniform(1 - jitter / 200, 1.04) for part in _HOURS[hour]["tint"])
    return Setting(
        environment=environment,
        hour=hour,
        horizon=rng.uniform(*environment.horizon),
        sky=sky,
        light=Light((red, green, blue), haze=sky[-1], night=hour == "night"),
    )
