"""Recipes: methods, data and sizes of a table, and the published numbers to compare with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from tagfill.bench.spec import AVERAGE, METRICS, SIZES, Column, Curve, Kind, Row, Size, Vary
from tagfill.errors import TagfillError, nearest
from tagfill.settings import build, load_toml, parse_toml


@dataclass(frozen=True)
class Recipe:
    """One table.

    Args:
        paper: paper and table the numbers beside ours are from; or "none", "no paper; ...".
        shows: what the table is for, in a few sentences.
        expected: result and time to expect, in one line.
        kind: "runs" trains; "few_images" and "label_counts" only count labels.
        metrics: the first is the main one.
        baseline: the row all others are compared with.
        vary: what the seeds change: the training, or the mask of the labels.
        average: whether the mean over all columns is a column of its own.
        columns: data and settings across the table.
        rows: methods down the table.
        curves: columns that are drawn as lines too.
        sizes: smoke, voc and paper.
    """

    name: str
    title: str
    paper: str
    shows: str
    expected: str
    sizes: Mapping[str, Size]
    columns: Mapping[str, Column] = field(default_factory=dict)
    rows: Mapping[str, Row] = field(default_factory=dict)
    kind: Kind = "runs"
    metrics: tuple[str, ...] = ("mAP",)
    baseline: str | None = None
    vary: Vary = "training"
    average: bool = False
    curves: Mapping[str, Curve] = field(default_factory=dict)

    @property
    def has_paper(self) -> bool:
        return not self.paper.startswith(("none", "no paper"))

    def size(self, name: str) -> Size:
        """A size by its name."""
        if name not in self.sizes:
            known = ", ".join(self.sizes)
            raise TagfillError(f"{self.name} has no size {name!r}", remedy=f"its sizes: {known}")
        return self.sizes[name]


def recipe_names() -> list[str]:
    """The built-in recipes."""
    folder = files("tagfill.bench") / "recipes"
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir())


def load_recipe(name: str) -> Recipe:
    """A recipe by its name, or from a file of the user's own.

    Raises:
        TagfillError: there is none, or the file has an unknown key.
    """
    path = Path(name)
    if path.suffix == ".toml":
        return _checked(load_toml(path), path)
    if name not in recipe_names():
        raise TagfillError(
            f"there is no recipe {name!r}",
            remedy=f"{nearest(name, recipe_names())}`tagfill bench --list` lists them;"
            " your own is a path that ends in .toml",
        )
    own = files("tagfill.bench") / "recipes" / f"{name}.toml"
    return parse(own.read_text(encoding="utf-8"), Path(f"{name}.toml"))


def parse(text: str, path: Path) -> Recipe:
    """A recipe from TOML; an unknown key is an error."""
    return _checked(parse_toml(text, path), path)


def _checked(document: Mapping[str, Any], path: Path) -> Recipe:
    recipe = build(Recipe, {"name": path.stem, **document}, path)
    assert isinstance(recipe, Recipe)
    for problem in _problems(recipe):
        raise TagfillError(problem, file=path)
    return recipe


def _problems(recipe: Recipe) -> Iterator[str]:
    for name in recipe.metrics:
        if name not in METRICS:
            yield f"unknown metric {name!r}"
    if recipe.baseline is not None and recipe.baseline not in recipe.rows:
        yield f"baseline: there is no row {recipe.baseline!r}"
    for name, row in recipe.rows.items():
        quoted = [column for quotes in row.paper_more.values() for column in quotes]
        for column in (*row.paper, *row.code, *quoted, *(row.only_columns or ())):
            if column not in recipe.columns and not (recipe.average and column == AVERAGE):
                yield f"rows.{name}: there is no column {column!r}"
    yield from _curve_problems(recipe)
    for name, size in recipe.sizes.items():
        yield from _size_problems(recipe, name, size)


def _curve_problems(recipe: Recipe) -> Iterator[str]:
    for name, curve in recipe.curves.items():
        if bool(curve.points) == bool(curve.epochs):
            yield f"curves.{name}: give either points or epochs"
        for column in (*curve.points, curve.level, curve.epochs):
            if column is not None and column not in recipe.columns:
                yield f"curves.{name}: there is no column {column!r}"
        for row in curve.times:
            if row not in recipe.rows:
                yield f"curves.{name}: there is no row {row!r}"


def _size_problems(recipe: Recipe, name: str, size: Size) -> Iterator[str]:
    key = f"sizes.{name}"
    if name not in SIZES:
        yield f"{key}: sizes are {', '.join(SIZES)}"
    listed = [row for rows in size.column_rows.values() for row in rows]
    for row in (*(size.rows or ()), *listed, *size.row_settings):
        if row not in recipe.rows:
            yield f"{key}.rows: there is no row {row!r}"
    named = (*size.column_rows, *size.column_seeds, *size.column_settings)
    for named_column in (*(size.columns or ()), *named):
        if named_column not in recipe.columns:
            yield f"{key}: there is no column {named_column!r}"
    for source in size.presets:
        if source not in size.data:
            yield f"{key}.presets: there is no {source!r} in {key}.data"
    for name, column in recipe.columns.items():
        if (size.columns is None or name in size.columns) and column.data not in size.data:
            yield f"{key}.data: there is no {column.data!r}"
