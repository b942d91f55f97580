"""The lines of a drawing: what they choose, repeat and draw."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tagfill.scenes.color import Light, darker, ink, lighter, mix, parse
from tagfill.scenes.drawing import parse_drawings


class Recorder:
    """Stands in for a pen, and keeps what it is told to draw."""

    def __init__(self, light: Light) -> None:
        self.night, self.calls = light.night, list[tuple[Any, ...]]()

    def disc(self, *values: Any) -> None:
        self.calls.append(values)

    def blob(self, *values: Any) -> None:
        self.calls.append(values)


def drawn(lines: str, *, night: bool = False, seed: int = 0, **names: float) -> list[Any]:
    pen = Recorder(Light(night=night))
    drawing = parse_drawings(lines)["egg"]
    drawing(pen, Random(seed), **names)  # type: ignore[arg-type]
    return pen.calls


def test_numbers_are_sums_of_products():
    (values,) = drawn("egg: an egg\n  half = .5\n  disc #ffffff  -half+.2 half*half*4 1-half")
    assert values == ("#ffffff", pytest.approx(-0.3), 1.0, 0.5)


def test_colors_get_lighter_darker_mixed_and_final():
    lines = "egg: an egg\n  gray = #808080\n  far = mix gray #ffffff .5\n"
    calls = drawn(
        lines
        + "".join(f"  disc {color} 0 0 1\n" for color in ("gray+.25", "gray-.2", "far", "!gray"))
    )
    gray = parse("#808080")
    expected = [lighter(gray, 0.25), darker(gray, 0.2), mix(gray, "#ffffff", 0.5), ink(gray)]
    assert [call[0] for call in calls] == expected


def test_points_come_in_pairs():
    assert drawn("egg: an egg\n  blob #ffffff  0 .1  .2 .3") == [
        ("#ffffff", [(0, 0.1), (0.2, 0.3)])
    ]


def test_lines_above_the_first_drawing_belong_to_all():
    lines = "glass = day #000000 night #ffffff\n\negg: an egg\n  disc glass 0 0 1"
    assert drawn(lines)[0][0] == "#000000"
    assert drawn(lines, night=True)[0][0] == ink("#ffffff")


def test_loops():
    lines = (
        "egg: an egg\n  for x color in 1 #000000, 2 #ffffff\n    repeat 2 n\n      disc color x n 1"
    )
    assert drawn(lines) == [
        ("#000000", 1, 0, 1),
        ("#000000", 1, 1, 1),
        ("#ffffff", 2, 0, 1),
        ("#ffffff", 2, 1, 1),
    ]


@pytest.mark.parametrize("seed", range(8))
def test_chances_and_choices_follow_the_random_state(seed: int):
    lines = """
egg: an egg
  kind = one of round long
  if kind round
    disc #111111 0 0 1
  else
    disc #222222 0 0 1
  chance .5
    disc #333333 0 0 1
  else
    size = from .3 to .4
    disc #444444 0 0 size
"""
    calls, rng = drawn(lines, seed=seed), Random(seed)
    assert calls[0][0] == {"round": "#111111", "long": "#222222"}[rng.choice(["round", "long"])]
    if rng.random() < 0.5:
        assert calls[1] == ("#333333", 0, 0, 1)
    else:
        assert calls[1] == ("#444444", 0, 0, rng.uniform(0.3, 0.4))


def test_a_shape_that_does_not_exist_is_an_error():
    with pytest.raises(AttributeError, match="dsc"):
        drawn("egg: an egg\n  dsc #ffffff 0 0 1")
