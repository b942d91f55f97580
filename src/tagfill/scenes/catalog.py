"""All kinds of things, gathered from the families."""

from __future__ import annotations

from tagfill.scenes import animals, buildings, clutter, people, plants, sky, vehicles

THINGS = (
    *sky.THINGS,
    *plants.THINGS,
    *buildings.THINGS,
    *vehicles.THINGS,
    *animals.THINGS,
    *people.THINGS,
)
"""Things with a label; overhead things in the order they are painted."""

CLUTTER = clutter.THINGS
"""Distractors."""

CLASSES = tuple(sorted(thing.name for thing in THINGS))
"""The class names, in the order of every label vector."""
