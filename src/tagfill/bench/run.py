"""Run a recipe: every cell that is not cached, and a report of all of them."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from tagfill.bench.cells import Outcome, find_cell, run_cell
from tagfill.bench.counts import few_images, label_counts
from tagfill.bench.plan import Cell, choose, plan
from tagfill.bench.recipe import Recipe
from tagfill.bench.table import Report, Table, spread
from tagfill.console import Tell
from tagfill.train.events import Sink


@dataclass(frozen=True)
class Order:
    """A benchmark to run.

    Args:
        out: where results are cached and tables are written.
        seeds: instead of the size's own number.
        only: rows or methods to run; others are shown as far as they are finished.
        columns: columns to run; others show finished results.
        run: whether to run anything at all.
    """

    recipe: Recipe
    size: str
    data: Path
    out: Path
    seeds: int | None = None
    only: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    run: bool = True

    def cells(self) -> tuple[list[Cell], list[Cell]]:
        """All cells of the size, and those to run; all are checked before the first is run."""
        all_cells = plan(self.recipe, self.recipe.size(self.size), self.seeds)
        for cell in all_cells:
            cell.check()
        chosen = choose(all_cells, self.recipe, self.only, self.columns)
        return all_cells, chosen if self.run else []


def run(order: Order, tell: Tell, sinks: Sequence[Sink] = ()) -> Report:
    """Run the missing cells, and report on all finished ones.

    Raises:
        Interrupted: the user stopped; the same call continues from there.
    """
    recipe, size = order.recipe, order.recipe.size(order.size)
    if recipe.kind == "few_images":
        return few_images(recipe, size, order.data, order.out)
    if recipe.kind == "label_counts":
        return label_counts(recipe, size, order.data, order.out)
    all_cells, to_run = order.cells()
    outcomes = []
    for number, cell in enumerate(to_run, 1):
        began = time.monotonic()
        outcome = run_cell(cell, order.data, order.out, sinks)
        outcomes.append(outcome)
        seconds = time.monotonic() - began
        tell(f"{number}/{len(to_run)}  {cell.place}  {_result(outcome)}  {seconds:.1f} s")
    chosen = set(map(id, to_run))
    rest = [find_cell(c, order.data, order.out) for c in all_cells if id(c) not in chosen]
    outcomes += [outcome for outcome in rest if outcome is not None]
    return Table(recipe, outcomes, order.out).report()


def _result(outcome: Outcome) -> str:
    if outcome.error is not None:
        return f"failed: {outcome.error}"
    values = outcome.metrics.get("mAP", {})
    return "  ".join(f"{split} mAP {spread([value])}" for split, value in values.items())


def selected(names: Collection[str] | None) -> tuple[str, ...]:
    """Names, given one by one or separated by commas."""
    return tuple(name for listed in names or () for name in listed.split(",") if name)
