"""`tagfill bench`: run the tables of the papers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from tagfill.cli.options import Flag, Json, Names
from tagfill.cli.output import emit, log, print_json, say, show_table
from tagfill.train.limits import Interrupted

if TYPE_CHECKING:
    from tagfill.bench.run import Order

DATA = Path("..") / "shared" / "data" / "voc2012"


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
    list_: Annotated[Flag, Parameter(name="--list")] = False,
    dry_run: Flag = False,
    json: Json = False,
) -> int:
    """Run a table of a paper: methods x regimes x seeds.

    The table is written beside the paper's numbers. Finished cells are cached and shared by
    recipes, interrupted ones continue, failed ones are shown with their message and run again by
    the next call.

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
    """
    from tagfill.bench.recipe import load_recipe, recipe_names
    from tagfill.bench.run import Order, selected

    if recipe is None or list_:
        keys = ("name", "title", "paper", "expected")
        recipes = [load_recipe(name) for name in recipe_names()]
        listed = [{key: getattr(loaded, key) for key in keys} for loaded in recipes]
        emit({"recipes": listed}, _show_list, json=json)
        return 0
    chosen = (selected(only), selected(columns))
    order = Order(load_recipe(recipe), size, data, out, seeds, *chosen, run=run)
    if dry_run:
        emit(_planned(order), _show_planned, json=json)
        return 0
    return _run(order, recipe, write, json)


def _run(order: Order, name: str, page_folder: Path | None, as_json: bool) -> int:
    from tagfill.bench.run import run
    from tagfill.bench.write import as_dict, draw_curves, markdown, publish, write

    seeds = "" if order.seeds is None else f" --seeds {order.seeds}"
    command = f"tagfill bench {Path(name).name} --size {order.size}{seeds}"
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
        print_json({**as_dict(report), "files": files})
    else:
        for sheet in report.sheets:
            show_table(sheet.title, sheet.headers, sheet.rows)
        differs = order.recipe.size(order.size).differs
        say(*(f"- {line}" for line in (*differs, *report.notes)))
        say(*(f"failed: {failure}" for failure in report.failures))
        say("written: " + ", ".join(map(str, files)))
    return 1 if report.failures else 0


def _show_list(result: Mapping[str, Any]) -> None:
    rows = [(row["name"], row["title"], row["expected"]) for row in result["recipes"]]
    show_table("Recipes", ["recipe", "table", "expected"], rows, text=True)


def _planned(order: Order) -> dict[str, Any]:
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
    return {"recipe": order.recipe.name, "size": order.size, "cells": cells}


def _show_planned(result: Mapping[str, Any]) -> None:
    cells = result["cells"]
    rows = [tuple(map(str, cell.values())) for cell in cells]
    headers = ["row", "column", "seed", "method", "labels", "settings"]
    show_table(f"{result['recipe']}: {len(cells)} cells", headers, rows)
