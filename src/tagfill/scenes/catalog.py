"""All kinds of things: the entries of ``things.toml`` with the drawings of their names."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from types import ModuleType
from typing import Any

from tagfill.scenes import animals, buildings, clutter, people, plants, sky, vehicles
from tagfill.scenes.thing import Thing

_TABLE = tomllib.loads((files("tagfill.scenes") / "things.toml").read_text(encoding="utf-8"))


def _family(module: ModuleType, *, labeled: bool = True) -> tuple[Thing, ...]:
    things = []
    for name, entry in _TABLE[module.__name__.rpartition(".")[2]].items():
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()
        }
        things.append(Thing(name=name, draw=getattr(module, name), labeled=labeled, **fields))
    return tuple(things)


THINGS = sum(map(_family, (sky, plants, buildings, vehicles, animals, people)), ())
"""Things with a label; overhead things in the order they are painted."""

CLUTTER = _family(clutter, labeled=False)
"""Distractors."""

CLASSES = tuple(sorted(thing.name for thing in THINGS))
"""The class names, in the order of every label vector."""
