"""Labels and boxes say what can be seen, to the pixel."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tagfill.scenes.color import Light
from tagfill.scenes.compose import MIN_AREA, MIN_VISIBLE, Canvas, paint
from tagfill.scenes.plan import ENVIRONMENTS, Hardness, Placement, Plan, Setting, draw_plan
from tagfill.scenes.things import CLUTTER, THINGS, Thing, sprite

SIZE = 128


def block(name: str) -> Thing:
    """A solid square: its area is known by hand."""
    return Thing(
        name, lambda pen, rng: pen.box("#ff0000", -0.5, 0, 0.5, 1), (0.25, 0.25), 1.0, "sky", {}
    )


def at(thing: Thing, x: float, y: float, height: float = 0.25) -> Placement:
    return Placement(thing, x, y, height, depth=0.5, tilt=0.0, flip=False, form=0.0)


def boxes(*placements: Placement) -> dict[str, tuple[int, int, int, int, int]]:
    light = Light()
    setting = Setting(ENVIRONMENTS[0], "day", 0.5, ((200.0, 220.0, 240.0),) * 2, light)
    canvas = Canvas(Plan(setting, (), placements), SIZE)
    for placement in placements:
        canvas.stamp(placement)
    return {
        box.name: (box.left, box.top, box.width, box.height, box.area) for box in canvas.boxes()
    }


def test_a_thing_in_full_view_has_its_own_box():
    left, top, width, height, area = boxes(at(block("red"), 0.5, 0.75))["red"]
    assert (left, top) == pytest.approx((48, 64), abs=1)
    assert (width, height) == pytest.approx((32, 32), abs=1)
    assert area == width * height


def test_a_hidden_part_is_not_in_the_box():
    seen = boxes(at(block("back"), 0.5, 0.75), at(block("front"), 0.625, 0.75))
    assert seen["back"][2] == pytest.approx(16, abs=1)
    assert seen["back"][4] == seen["back"][2] * seen["back"][3]
    assert seen["front"][2] == pytest.approx(32, abs=1)


@pytest.mark.parametrize(("shift", "visible"), [(0.25 * 0.25, False), (0.25 * 0.4, True)])
def test_a_thing_too_much_hidden_has_no_label(shift: float, visible: bool):
    seen = boxes(at(block("back"), 0.5, 0.75), at(block("front"), 0.5 + shift, 0.75))
    assert ("back" in seen) is visible


@pytest.mark.parametrize(("x", "visible"), [(-0.06, False), (0.0, True)])
def test_what_the_frame_cuts_off_counts_as_hidden(x: float, visible: bool):
    assert ("red" in boxes(at(block("red"), x, 0.75))) is visible


def test_a_thing_too_small_has_no_label():
    side = MIN_AREA**0.5
    assert boxes(at(block("red"), 0.5, 0.5, side * 0.6)) == {}
    assert "red" in boxes(at(block("red"), 0.5, 0.5, side * 2))


def test_land_hides_what_is_behind_it():
    light = Light()
    setting = Setting(ENVIRONMENTS[0], "day", 0.5, ((200.0, 220.0, 240.0),) * 2, light)
    low, high = at(block("low"), 0.5, 0.85), at(block("high"), 0.5, 0.3)
    canvas = paint(Plan(setting, (low, high), ()), Random(0), SIZE)
    assert [box.name for box in canvas.boxes()] == ["high"]


def test_boxes_are_tight_around_owned_pixels_in_drawn_scenes():
    for number in range(40):
        rng = Random(number)
        canvas = paint(draw_plan(rng, Hardness.of(0.7)), rng, SIZE)
        owners = np.asarray(canvas.owners)
        by_area = {}
        for stamp in canvas.stamps:
            rows, columns = np.nonzero(owners == stamp.code)
            big = len(rows) >= max(MIN_VISIBLE * stamp.own_area, MIN_AREA * SIZE * SIZE)
            if stamp.placement.thing.labeled and big:
                key = (stamp.placement.thing.name, columns.min(), rows.min(), len(rows))
                by_area[key] = (np.ptp(columns) + 1, np.ptp(rows) + 1)
        drawn = {
            (box.name, box.left, box.top, box.area): (box.width, box.height)
            for box in canvas.boxes()
        }
        assert drawn == by_area


@pytest.mark.parametrize("thing", [*THINGS, *CLUTTER], ids=lambda thing: thing.name)
def test_drawings_stay_inside_their_sprite_and_vary(thing: Thing):
    pictures = [
        sprite(
            thing, Random(form), 60.0, tilt=thing.tilt, flip=bool(form % 2), light=Light()
        ).picture
        for form in range(12)
    ]
    for picture in pictures:
        alpha = np.asarray(picture.getchannel("A"))
        edges = np.concatenate([alpha[0], alpha[-1], alpha[:, 0], alpha[:, -1]])
        assert not edges.any()
        assert (alpha > 128).mean() > 0.02
    assert len({picture.tobytes() for picture in pictures}) > 6


@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: thing.name)
def test_a_flip_mirrors_the_drawing(thing: Thing):
    plain, flipped = (
        sprite(thing, Random(1), 64.0, tilt=0.0, flip=flip, light=Light()).picture
        for flip in (False, True)
    )
    one, two = np.asarray(plain, dtype=float), np.asarray(flipped, dtype=float)[:, ::-1]
    assert np.abs(one - two).mean() < 12
