"""Picture-book scenes: small landscapes with labeled things, drawn from a seed.

A thing is a drawing of its name in the file of its family in ``drawings`` (read by ``drawing``)
and a line in ``things.toml``. ``plan`` decides what stands where, ``compose`` paints it and
measures what can be seen.
"""

from __future__ import annotations

from tagfill.scenes.compose import MIN_AREA, MIN_VISIBLE, Box
from tagfill.scenes.scene import (
    DEFAULT_DIFFICULTY,
    Album,
    Scene,
    contact_sheet,
    dataset,
    generate,
    write_scenes,
)
from tagfill.scenes.things import CLASSES

__all__ = [
    "CLASSES",
    "DEFAULT_DIFFICULTY",
    "MIN_AREA",
    "MIN_VISIBLE",
    "Album",
    "Box",
    "Scene",
    "contact_sheet",
    "dataset",
    "generate",
    "write_scenes",
]
