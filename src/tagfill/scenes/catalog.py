"""All kinds of things: the entries of ``things.toml`` with the drawings of their names."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from tagfill.scenes.drawing import load_drawings
from tagfill.scenes.thing import Thing

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
