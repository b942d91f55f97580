"""Recipes: methods, data and sizes of a table, and the published numbers to compare with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from tagfill.errors import TagfillError, nearest
from tagfill.observe import regimes
from tagfill.observe.regimes import PUBLISHED_SEED
from tagfill.settings import build, load_toml, parse_toml
from tagfill.train.config import InputKind

RecipeKind = Literal["runs", "few_images", "label_counts"]
Vary = Literal["training", "mask"]
ReviewOrder = Literal["gain", "likely", "uncertain", "random"]

SIZES = ("smoke", "voc", "paper")
METRICS: Mapping[str, str] = {
    "mAP": "mAP (non-interpolated), percent",
    "interpolated_mAP": "mAP (all-point interpolated), percent",
    "OF1": "OF1 at thresholds fitted on validation, percent",
    "CF1": "CF1 (of mean precision and recall) at thresholds fitted on validation, percent",
    "train_mAP": "mAP of the predictions on training images against their full labels, percent",
    "pseudo_precision": "share of negative pseudo-labels that are right, percent",
    "positive_precision": "share of positive pseudo-labels that are right, percent",
    "positive_recall": "share of hidden positives that are positive pseudo-labels, percent",
}
ON_TRAINING = ("train_mAP", "pseudo_precision", "positive_precision", "positive_recall")
"""Metrics of the training images."""
SCENES = "scenes"
AVERAGE = "average"
"""The column of the mean over all others."""


@dataclass(frozen=True)
class LabelChoice:
    """Which of the full labels a run may see.

    Args:
        regime: see ``tagfill mask``; "full" hides nothing.
        seed: of the draw; 1200 is that of the papers.
        images: share of the training images that are used.
        reviewed: number of unknown entries that were reviewed and are known.
        order: of that review: "gain" as `tagfill recover` asks, "likely" the most probable tags
            first, "uncertain" those nearest to even chances, or "random".
    """

    regime: str = "single_positive"
    seed: int = PUBLISHED_SEED
    settings: Mapping[str, Any] = field(default_factory=dict)
    images: float = 1.0
    reviewed: int = 0
    order: ReviewOrder = "likely"

    def __post_init__(self) -> None:
        if not 0 < self.images <= 1:
            raise TagfillError(f"images must be above 0 and at most 1, got {self.images:g}")
        if self.order not in get_args(ReviewOrder):
            raise TagfillError(f"unknown order {self.order!r} of a review")
        if self.regime != "full":
            regimes.make(self.regime, self.settings)

    def __hash__(self) -> int:
        return hash(repr(self))


@dataclass(frozen=True)
class Column:
    """Data and settings across a table.

    Args:
        data: name of a data source of the size.
        labels: what is hidden.
        settings: as in a row; a row's win.
        preset: of methods that have one of this name, where the row names none.
    """

    title: str
    data: str = "voc"
    labels: LabelChoice = field(default_factory=LabelChoice)
    settings: Mapping[str, Any] = field(default_factory=dict)
    preset: str | None = None


@dataclass(frozen=True)
class Row:
    """A method down a table.

    Args:
        title: as in the paper.
        method: its name here; none if nothing is trained.
        model: a model folder under the data folder, to be evaluated.
        settings: options of ``tagfill train`` with underscores; ``preset`` is the method's preset,
            ``method.NAME`` and ``head.NAME`` are hyper-parameters.
        labels: instead of the column's, of as many images.
        order: of the reviews, instead of the columns'.
        paper: the paper's number of the main metric in each column.
        paper_more: its numbers of other metrics.
        code: what the published code reaches on the same inputs.
        only_columns: where the row makes sense; everywhere by default.
        note: for the reader of the table.
    """

    title: str
    method: str | None = None
    model: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    labels: LabelChoice | None = None
    order: ReviewOrder | None = None
    paper: Mapping[str, float] = field(default_factory=dict)
    paper_more: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    code: Mapping[str, float] = field(default_factory=dict)
    only_columns: tuple[str, ...] | None = None
    note: str = ""

    @property
    def is_quoted(self) -> bool:
        """Whether there is nothing to run."""
        return self.method is None and self.model is None

    def belongs_to(self, column: str) -> bool:
        """Whether the row applies to a column."""
        return self.only_columns is None or column in self.only_columns


@dataclass(frozen=True)
class Source:
    """Where labels and images or features come from.

    Args:
        labels: path under the data folder, or "scenes" for drawn ones.
        images: image folder under the data folder.
        inputs: what runs read.
        features: name of the feature set, where there are several.
        count, pixels: of scenes.
        backbone: computes features where a source has none; colors of the images by default.
    """

    labels: str
    images: str | None = None
    inputs: InputKind = "images"
    features: str | None = None
    count: int = 48
    pixels: int = 48
    backbone: str | None = None


@dataclass(frozen=True)
class Curve:
    """The columns of a table along an axis, or the epochs of one, drawn as one line per row.

    Args:
        axis: what the columns differ in.
        points: position of each column on it.
        rows: those that are drawn; all by default.
        epochs: a column whose validation metrics after every epoch are drawn instead.
        first: the first of these epochs.
        times: factor on the position of rows along it.
        level: a column drawn as level lines instead.
        log: whether the axis is logarithmic.
    """

    axis: str
    points: Mapping[str, float] = field(default_factory=dict)
    rows: tuple[str, ...] | None = None
    epochs: str | None = None
    first: int = 1
    times: Mapping[str, float] = field(default_factory=dict)
    level: str | None = None
    log: bool = False


@dataclass(frozen=True)
class Size:
    """How much of a table is computed, and its data.

    Args:
        columns, rows: which are run; all by default.
        column_rows: rows that are run in single columns.
        column_seeds: how many seeds single columns have.
        settings: of all cells; those of columns and rows override them.
        row_settings: of single rows; these win over the rows' own.
        column_settings: of single columns; these win over all.
        presets: of data sources, instead of those that rows name, such as the paper's k.
        regime_settings: of the regimes of all columns; these win over the columns' own.
        differs: what differs from the paper's set-up, in plain words.
    """

    data: Mapping[str, Source]
    seeds: int = 1
    columns: tuple[str, ...] | None = None
    rows: tuple[str, ...] | None = None
    column_rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    column_seeds: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    row_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    column_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    presets: Mapping[str, str] = field(default_factory=dict)
    regime_settings: Mapping[str, Any] = field(default_factory=dict)
    differs: tuple[str, ...] = ()

    def seeds_of(self, column: str) -> int:
        """How many seeds a column has."""
        return self.column_seeds.get(column, self.seeds)

    def has(self, row: str, column: str) -> bool:
        """Whether an entry of the table is run at this size."""
        return (
            (self.columns is None or column in self.columns)
            and (self.rows is None or row in self.rows)
            and (column not in self.column_rows or row in self.column_rows[column])
        )


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
    kind: RecipeKind = "runs"
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
        for row in (*curve.times, *(curve.rows or ())):
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
