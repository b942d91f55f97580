"""The search space, and the run of each point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.methods._search import Range, Values, search_space
from tagfill.train.config import RunConfig
from tagfill.train.resolve import Request, finds_head_at_once

METHOD = "method."
LEARNING_RATE = {"features": Range(1e-5, 1e-1), "images": Range(1e-6, 1e-3)}
BATCH_SIZE = (8, 16, 32, 64)


@dataclass(frozen=True)
class Grid:
    """A paper's grid: every combination of some values."""

    source: str
    values: Mapping[str, tuple[Any, ...]]

    def points(self) -> list[dict[str, Any]]:
        """All combinations."""
        return [
            dict(zip(self.values, chosen, strict=True)) for chosen in product(*self.values.values())
        ]


GRIDS = {
    "mlspl": Grid(
        "Cole et al. 2021, and Zhou et al. 2022 for each of its methods: batch 8 and 16, learning"
        " rate 1e-2 to 1e-5",
        {"learning_rate": (1e-2, 1e-3, 1e-4, 1e-5), "batch_size": (8, 16)},
    ),
    "em_alpha": Grid(
        "Zhou et al. 2022, Fig. 3a: alpha of em and em_apl; the values around its peak are ours",
        {"method.alpha": (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)},
    ),
    "lac": Grid(
        "Xie et al. 2022, first stage: batch size and delta",
        {"batch_size": (8, 16, 32, 64), "method.threshold": (0.5, 0.6, 0.7, 0.8, 0.9)},
    ),
    "lac_queue": Grid(
        "Xie et al. 2022, second stage: K, the size of the memory queue",
        {"method.queue": (512, 1024, 2048, 4096, 8192)},
    ),
}


def find_grid(name: str) -> Grid:
    if name not in GRIDS:
        raise TagfillError(f"unknown grid {name!r}", remedy=f"use one of {', '.join(GRIDS)}")
    return GRIDS[name]


def space_of(request: Request, config: RunConfig) -> dict[str, Values]:
    """The values to try: everything the user has not fixed.

    Args:
        config: what it resolved to; its last stage is the one that is tuned.
    """
    stage = config.stages[-1]
    space: dict[str, Values] = {}
    if not finds_head_at_once(stage, config.model):
        space = {"learning_rate": LEARNING_RATE[stage.inputs], "batch_size": BATCH_SIZE}
    own = search_space(stage.method.name, stage.method.preset)
    space.update({f"{METHOD}{name}": values for name, values in own.items()})
    fixed = _fixed(request)
    space = {name: values for name, values in space.items() if name not in fixed}
    if not space:
        raise TagfillError("every setting is fixed: there is nothing to search")
    return space


def narrowed(request: Request, config: RunConfig, grid: Grid) -> dict[str, Values]:
    """The search space of a grid; ranges around it for what is not a setting of the method."""
    fixed = _fixed(request) & set(grid.values)
    if fixed:
        raise TagfillError(
            f"{min(fixed)} is fixed, and the grid searches it",
            remedy="remove the setting or the grid",
        )
    method = config.stages[-1].method
    settings = at_point(request, grid.points()[0]).method_settings
    methods.configure(method.name, settings, method.preset)
    space = space_of(request, config)
    idle = [name for name in grid.values if not name.startswith(METHOD) and name not in space]
    if idle:
        raise TagfillError(
            f"{method.name} solves a linear head directly and has no {idle[0]} to search",
            remedy="choose another --method, or remove the grid",
        )
    return {
        name: values if name.startswith(METHOD) else space[name]
        for name, values in grid.values.items()
    }


def at_point(request: Request, point: Mapping[str, Any]) -> Request:
    own = {name: value for name, value in point.items() if not name.startswith(METHOD)}
    of_method = {
        name.removeprefix(METHOD): value for name, value in point.items() if name.startswith(METHOD)
    }
    return replace(
        request,
        overrides={**request.overrides, **own},
        method_settings={**request.method_settings, **of_method},
    )


def _fixed(request: Request) -> set[str]:
    return {*request.overrides, *(f"{METHOD}{name}" for name in request.method_settings)}
