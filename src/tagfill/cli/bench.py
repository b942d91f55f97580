"""`tagfill bench`: run the tables of the papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from tagfill.train.limits import Interrupted

if TYPE_CHECKING:
    from tagfill.bench.recipe import Recipe
    from tagfill.bench.run import Order
    from tagfill.bench.table import Report

DATA = Path("..") / "shared" / "data" / "voc2012"
Names = Annotated[list[str] | None, Parameter(negative=(), consume_multiple=True)]


def bench(
    recipe: str | None = None,
    *,
    size: Literal["smoke", "voc", "paper"] = "smoke",
    data: Path = DATA,
    out: Path = Path("tagfill-bench"),
    seeds: int | None = None,
    only: Names = None,
    columns: Names = None,
    write: Path | None = None,
    run: bool = True,
    list_: Annotated[bool, Parameter(name="--list", negative=())] = False,
    dry_run: Annotated[bool, Parameter(negative=())] = False,
    json: bool = False,
) -> int:
    """Run methods x regimes x seeds and write a table beside the paper's numbers.

    Finished cells are cached and shared by recipes; interrupted ones continue. A failed cell is
    shown with its message and run again by the next call.

    Args:
        recipe: Name of a recipe, or a TOML file of your own; without it, all recipes are listed.
        size: smoke: drawn scenes, seconds; voc: PASCAL VOC 2012 on 2 CPU cores; paper: the full
            protocol.
        data: Folder of the data; docs/bench.md lists its content.
        out: Folder of finished cells and tables; recipes share it.
        seeds: Number of seeds, instead of that of the size.
        only: Rows or methods to run; others show finished results.
        columns: Columns to run; others show finished results.
        write: Write the Markdown page and its pictures into this folder too.
        run: With --no-run, write tables of finished cells only.
        list_: List the recipes.
        dry_run: Show what would be run.
        json: One JSON object on stdout.
    """
    from tagfill.bench.recipe import load_recipe

    if recipe is None or list_:
        return _list(json)
    from tagfill.bench.run import Order, selected

    chosen = (selected(only), selected(columns))
    order = Order(load_recipe(recipe), size, data, out, seeds, *chosen, run=run)
    return _dry_run(order, json) if dry_run else _run(order, recipe, write, json)


def _run(order: Order, name: str, page_folder: Path | None, as_json: bool) -> int:
    from tagfill.bench.curves import draw_curves
    from tagfill.bench.run import run
    from tagfill.bench.write import as_dict, markdown, publish, write
    from tagfill.cli.output import log, print_json

    command = _command(order, name)
    try:
        report = run(order, lambda line: log.print(line))
    except Interrupted as stop:
        raise Interrupted(f"the same command ({command} ...)") from stop
    curves = draw_curves(order.recipe, order.size, report, order.out)
    pictures = [file for files in curves.values() for file in files]
    page = markdown(order.recipe, order.size, command, report, curves)
    files = write(report, page, order.out, f"{order.recipe.name}-{order.size}") + pictures
    if page_folder is not None:
        files += publish(order.recipe, page, pictures, page_folder)
    if as_json:
        print_json({**as_dict(report), "files": [str(file) for file in files]})
    else:
        _show(order.recipe, order.size, report, files)
    return 1 if report.failures else 0


def _command(order: Order, name: str) -> str:
    seeds = "" if order.seeds is None else f" --seeds {order.seeds}"
    shown = order.recipe.name if name == order.recipe.name else Path(name).name
    return f"tagfill bench {shown} --size {order.size}{seeds}"


def _show(recipe: Recipe, size: str, report: Report, files: list[Path]) -> None:
    from tagfill.cli.output import console, table

    for sheet in report.sheets:
        console.print(table(sheet.title, sheet.headers, sheet.rows))
    for line in (*recipe.size(size).differs, *report.notes):
        console.print(f"- {line}")
    for failure in report.failures:
        console.print(f"failed: {failure}")
    console.print("written: " + ", ".join(map(str, files)), soft_wrap=True)


def _list(as_json: bool) -> int:
    from tagfill.bench.recipe import load_recipe, recipe_names
    from tagfill.cli.output import console, print_json, table

    recipes = [load_recipe(name) for name in recipe_names()]
    metadata = [
        {
            "name": recipe.name,
            "title": recipe.title,
            "paper": recipe.paper,
            "expected": recipe.expected,
        }
        for recipe in recipes
    ]
    if as_json:
        print_json({"recipes": metadata})
    else:
        rows = [(recipe["name"], recipe["title"], recipe["expected"]) for recipe in metadata]
        made = table("Recipes", ["recipe", "what", "expected"], rows)
        for column in made.columns:
            column.justify = "left"
        console.print(made)
    return 0


def _dry_run(order: Order, as_json: bool) -> int:
    from tagfill.cli.output import console, print_json, table

    _, wanted = order.cells()
    cells = [
        {
            "row": cell.row,
            "column": cell.column,
            "seed": cell.seed,
            "method": cell.method,
            "labels": cell.labels.regime,
            "settings": {key: setting for key, setting in cell.settings.items() if key != "seed"},
        }
        for cell in wanted
    ]
    if as_json:
        print_json({"recipe": order.recipe.name, "size": order.size, "cells": cells})
    else:
        rows = [tuple(map(str, cell.values())) for cell in cells]
        headers = ["row", "column", "seed", "method", "labels", "settings"]
        console.print(table(f"{order.recipe.name}: {len(cells)} cells", headers, rows))
    return 0
