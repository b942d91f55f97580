"""Paints a plan, and measures how much of each thing is visible."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from random import Random
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from tagfill.scenes.color import Light, ink, parse
from tagfill.scenes.pen import Pen, gradient
from tagfill.scenes.plan import Hardness, Placement, Plan, Setting
from tagfill.scenes.things import sprite

MIN_VISIBLE = 0.3
"""A thing counts as present if this share of its own area can be seen ..."""
MIN_AREA = 0.0005
"""... and this share of the picture is covered by what is seen (33 pixels at 256 x 256)."""

_LAND_FOLD = 2


@dataclass(frozen=True)
class Box:
    """A thing that can be seen, and the smallest box around its visible pixels.

    Args:
        left, top, width, height: in pixels.
        area: number of visible pixels.
    """

    name: str
    left: int
    top: int
    width: int
    height: int
    area: int


@dataclass(frozen=True)
class _Stamp:
    placement: Placement
    code: int
    own_area: int
    region: tuple[int, int, int, int]


class Canvas:
    """The picture, and beside it the map that says which thing owns a pixel."""

    def __init__(self, plan: Plan, size: int) -> None:
        self.plan, self.size = plan, size
        setting = plan.setting
        reach = max(2, round(size * min(1.0, setting.horizon + 0.04)))
        self.picture = Image.new("RGB", (size, size), tuple(map(int, setting.sky[-1])))
        self.picture.paste(gradient(setting.sky, (size, reach)), (0, 0))
        self.owners = Image.new("L", (size, size))
        self.stamps: list[_Stamp] = []

    def stamp(self, placement: Placement) -> None:
        """Paint one thing over everything before it."""
        thing, size = placement.thing, self.size
        made = sprite(
            thing,
            Random(placement.form),
            placement.height * size,
            tilt=placement.tilt,
            flip=placement.flip,
            light=_light(self.plan.setting, placement),
        )
        left, top = round(placement.x * size) + made.left, round(placement.y * size) + made.top
        alpha = made.picture.getchannel("A")
        solid = _solid(alpha)
        if thing.opacity < 1.0:
            alpha = alpha.point([round(level * thing.opacity) for level in range(256)])
        self.picture.paste(made.picture, (left, top), alpha)
        code = len(self.stamps) + 1
        self.owners.paste(code, (left, top), solid)
        width, height = made.picture.size
        self.stamps.append(
            _Stamp(placement, code, solid.histogram()[255], (left, top, left + width, top + height))
        )

    def shine(self, placement: Placement, color: str, radius: float) -> None:
        """Light in the air around a thing."""
        half = max(1, round(placement.height * radius * self.size))
        x = round(placement.x * self.size) - half
        y = round((placement.y - placement.height / 2) * self.size) - half
        mask = _halo().resize((2 * half, 2 * half))
        self.picture.paste(ink(color)[:3], (x, y, x + 2 * half, y + 2 * half), mask)

    def shadow(self, placement: Placement) -> None:
        """A soft dark spot on the ground under a thing."""
        half = placement.height * placement.thing.width * self.size * 0.42
        flat = max(1.0, half * 0.16)
        mask = Image.new("L", (int(half) * 2 + 3, int(flat) * 2 + 3))
        ImageDraw.Draw(mask).ellipse((0, 0, mask.width - 1, mask.height - 1), fill=52)
        spot = (
            round(placement.x * self.size) - mask.width // 2,
            round(placement.y * self.size) - mask.height // 2,
        )
        self.picture.paste((34, 38, 66), (*spot, spot[0] + mask.width, spot[1] + mask.height), mask)

    def land(self, rng: Random) -> None:
        """Paint the land; it hides what lies behind it."""
        setting, zoom = self.plan.setting, float(self.size * _LAND_FOLD)
        sheet = Image.new("RGBa", (self.size * _LAND_FOLD, self.size * _LAND_FOLD))
        pen = Pen(sheet, ((zoom, 0.0), (0.0, zoom)), (0.0, 0.0), setting.light)
        setting.environment.land(pen, rng, horizon=setting.horizon)
        sheet = sheet.reduce(_LAND_FOLD).convert("RGBA")
        alpha = sheet.getchannel("A")
        self.picture.paste(sheet, (0, 0), alpha)
        self.owners.paste(0, (0, 0), _solid(alpha))

    def boxes(self) -> tuple[Box, ...]:
        """The labeled things that can be seen, by the rule of ``MIN_VISIBLE`` and ``MIN_AREA``."""
        owners = np.asarray(self.owners)
        boxes = (_seen(owners, stamp) for stamp in self.stamps if stamp.placement.thing.labeled)
        return tuple(box for box in boxes if box is not None)


def paint(plan: Plan, rng: Random, size: int) -> Canvas:
    canvas = Canvas(plan, size)
    if plan.setting.hour == "night":
        _twinkle(canvas.picture, rng)
    for placement in plan.behind:
        if placement.thing.glow:
            canvas.shine(placement, *placement.thing.glow)
        canvas.stamp(placement)
    canvas.land(rng)
    for placement in plan.before:
        if placement.thing.place in ("ground", "walk", "road"):
            canvas.shadow(placement)
        canvas.stamp(placement)
    return canvas


def develop(canvas: Canvas, rng: Random, hardness: Hardness) -> Image.Image:
    """The finished picture: weather, then the faults of a cheap camera."""
    picture, size = canvas.picture, canvas.size
    fall = canvas.plan.setting.environment.fall
    if fall == "snow" and rng.random() < 0.6:
        _snowfall(picture, rng)
    elif fall == "rain" and rng.random() < 0.14:
        _rain(picture, rng)
    blur = rng.uniform(0, hardness.blur) * size
    if blur > 0.3:
        picture = picture.filter(ImageFilter.BoxBlur(blur))
    keep, middle = 1 - rng.uniform(0, hardness.fade), rng.uniform(108, 148)
    faded = [round(middle + (level - middle) * keep) for level in range(256)]
    picture = ImageChops.multiply(picture.point(faded * 3), _vignette(size))
    sigma = rng.uniform(0, hardness.noise)
    if sigma < 0.5:
        return picture
    grain = Image.frombytes("L", (size, size), rng.randbytes(size * size)).point(_grain(sigma))
    return ImageChops.add(picture, Image.merge("RGB", (grain, grain, grain)), 1.0, -128)


def _solid(alpha: Image.Image) -> Image.Image:
    """Where a thing hides what is behind it: at least half opaque."""
    return alpha.convert("1", dither=Image.Dither.NONE)


def _light(setting: Setting, placement: Placement) -> Light:
    if placement.thing.place == "heaven":
        return setting.light
    if placement.thing.place == "far":
        return setting.light.through(0.3)
    if placement.thing.place == "deep":
        return Light(setting.light.tint, parse("#4f9fb5"), 0.32 - 0.2 * placement.depth)
    return setting.light.through(0.26 * max(0.0, 1 - placement.depth))


def _seen(owners: npt.NDArray[np.uint8], stamp: _Stamp) -> Box | None:
    size = len(owners)
    left, top = max(0, stamp.region[0]), max(0, stamp.region[1])
    mine = owners[top : max(0, stamp.region[3]), left : max(0, stamp.region[2])] == stamp.code
    area = int(np.count_nonzero(mine))
    if area < MIN_VISIBLE * stamp.own_area or area < MIN_AREA * size * size:
        return None
    rows, columns = np.flatnonzero(mine.any(axis=1)), np.flatnonzero(mine.any(axis=0))
    return Box(
        name=stamp.placement.thing.name,
        left=left + int(columns[0]),
        top=top + int(rows[0]),
        width=int(columns[-1] - columns[0]) + 1,
        height=int(rows[-1] - rows[0]) + 1,
        area=area,
    )


@lru_cache(maxsize=4)
def _vignette(size: int) -> Image.Image:
    line = np.linspace(-1.0, 1.0, size) ** 2
    factor = 255 * (1.0 - 0.045 * (line[:, None] + line[None, :]))
    return Image.fromarray(factor.astype(np.uint8)).convert("RGB")


@lru_cache(maxsize=1)
def _halo() -> Image.Image:
    line = np.linspace(-1.0, 1.0, 64) ** 2
    strength = np.clip(1.0 - np.sqrt(line[:, None] + line[None, :]), 0.0, 1.0) ** 1.6
    return Image.fromarray((200 * strength).astype(np.uint8))


def _grain(sigma: float) -> list[int]:
    """Map uniform bytes to normal ones around 128."""
    normal = NormalDist(128.0, sigma)
    return [round(normal.inv_cdf((level + 0.5) / 256)) for level in range(256)]


def _twinkle(picture: Image.Image, rng: Random) -> None:
    draw, size = ImageDraw.Draw(picture), picture.width
    for _ in range(40):
        x, y, level = rng.randrange(size), rng.randrange(size // 2), rng.randrange(110, 220)
        draw.point((x, y), fill=(level, level, min(255, level + 25)))


def _snowfall(picture: Image.Image, rng: Random) -> None:
    draw, size = ImageDraw.Draw(picture), picture.width
    for _ in range(rng.randrange(30, 90)):
        x, y, half = rng.uniform(0, size), rng.uniform(0, size), rng.uniform(0.002, 0.005) * size
        draw.ellipse((x - half, y - half, x + half, y + half), fill=(250, 252, 255))


def _rain(picture: Image.Image, rng: Random) -> None:
    draw, size = ImageDraw.Draw(picture), picture.width
    slant = rng.uniform(-0.02, 0.02) * size
    for _ in range(rng.randrange(60, 120)):
        x, y = rng.uniform(0, size), rng.uniform(0, size)
        draw.line((x, y, x + slant, y + 0.05 * size), fill=(196, 208, 224))
