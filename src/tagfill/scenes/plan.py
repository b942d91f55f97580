"""Decides what is in a picture and where, before anything is drawn: hour, land, and things."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from random import Random
from typing import Literal

from tagfill.scenes.color import Color, Light, parse, vary
from tagfill.scenes.drawing import Drawing, load_drawings
from tagfill.scenes.things import CLUTTER, THINGS, Place, Thing

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


@dataclass(frozen=True)
class Hardness:
    """What a difficulty of 0..1 means.

    Args:
        size: factor on the height of things.
        spread: how unequal sizes are.
        clutter: largest number of distractors.
        tries: how often a free spot is looked for; fewer means more occlusion.
        jitter: spread of colors, in levels of 255.
        fade: largest loss of contrast.
        noise: largest standard deviation of noise, in levels of 255.
        blur: largest blur radius, in fractions of the picture.
    """

    size: float
    spread: float
    clutter: int
    tries: int
    jitter: float
    fade: float
    noise: float
    blur: float

    @classmethod
    def of(cls, difficulty: float) -> Hardness:
        """Small, crowded and varied early on; the camera's faults come late."""
        return cls(
            size=1.3 - 0.6 * difficulty,
            spread=0.05 + 0.5 * difficulty,
            clutter=round(1 + 9 * difficulty),
            tries=6 - round(4 * difficulty),
            jitter=4 + 20 * difficulty,
            fade=0.6 * difficulty**2,
            noise=18 * difficulty**2,
            blur=0.008 * difficulty**2,
        )


@dataclass(frozen=True)
class Placement:
    """A thing, where its foot stands and how large it is, in fractions of the picture.

    Args:
        x, y: the middle of its foot, from the upper left corner.
        depth: 0 far, 1 near; nearer things are painted later.
        form: seed of the drawing.
    """

    thing: Thing
    x: float
    y: float
    height: float
    depth: float
    tilt: float
    flip: bool
    form: float


@dataclass(frozen=True)
class Plan:
    """A whole picture: ``behind`` the land and ``before`` it, each in painting order."""

    setting: Setting
    behind: tuple[Placement, ...]
    before: tuple[Placement, ...]


def draw_plan(rng: Random, hardness: Hardness) -> Plan:
    setting = draw_setting(rng, hardness.jitter)
    placed: list[Placement] = []
    for thing in THINGS:
        if rng.random() < _probability(thing, setting):
            for _ in range(_count(rng, thing)):
                placed.append(_place(rng, thing, setting, hardness, placed))
    homes = [thing for thing in CLUTTER if _probability(thing, setting)]
    for _ in range(rng.randint(0, min(hardness.clutter, 2 * len(homes)))):
        placed.append(_place(rng, rng.choice(homes), setting, hardness, placed))
    behind = [placement for placement in placed if placement.thing.place in ("heaven", "far")]
    before = [placement for placement in placed if placement.thing.place not in ("heaven", "far")]
    return Plan(
        setting, tuple(behind), tuple(sorted(before, key=lambda placement: placement.depth))
    )


def _probability(thing: Thing, setting: Setting) -> float:
    if thing.hour != "any" and (thing.hour == "night") != (setting.hour == "night"):
        return 0.0
    return thing.lives.get(setting.environment.name, 0.0)


def _count(rng: Random, thing: Thing) -> int:
    low, high = thing.many
    return low + int((high - low + 1) * rng.random() ** 2)


def _place(
    rng: Random, thing: Thing, setting: Setting, hardness: Hardness, others: list[Placement]
) -> Placement:
    options = [_anywhere(rng, thing, setting, hardness) for _ in range(hardness.tries)]
    return min(options, key=lambda option: sum(_overlap(option, other) for other in others))


def _anywhere(rng: Random, thing: Thing, setting: Setting, hardness: Hardness) -> Placement:
    horizon = setting.horizon
    depth = rng.uniform(*thing.depth)
    height = rng.uniform(*thing.height) * hardness.size * rng.uniform(1 - hardness.spread, 1.0)
    if thing.place in ("heaven", "sky"):
        y = horizon * (1 - rng.uniform(*thing.band)) + height / 2
    elif thing.place == "far":
        y = horizon + 0.02
    else:
        low, high = setting.environment.spans[thing.place]
        depth = low + (high - low) * depth
        y = horizon + (1 - horizon) * depth
        height *= setting.environment.far_scale * (1 - depth) + depth
    return Placement(
        thing=thing,
        x=rng.uniform(-0.02, 1.02),
        y=y,
        height=height,
        depth=depth,
        tilt=rng.uniform(-thing.tilt, thing.tilt),
        flip=rng.random() < 0.5,
        form=rng.random(),
    )


def _overlap(one: Placement, two: Placement) -> float:
    wide = (one.thing.width * one.height + two.thing.width * two.height) / 2
    across = 1 - abs(one.x - two.x) / wide
    middle = abs((one.y - one.height / 2) - (two.y - two.height / 2))
    along = 1 - middle / ((one.height + two.height) / 2)
    return max(0.0, across) * max(0.0, along)
