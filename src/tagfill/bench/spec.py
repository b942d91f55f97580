"""The sections of a recipe: rows, columns, label variants, data sources and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tagfill.errors import TagfillError
from tagfill.observe import regimes
from tagfill.observe.regimes import PUBLISHED_SEED

Kind = Literal["runs", "few_images", "label_counts"]
Vary = Literal["training", "mask"]
Inputs = Literal["features", "images"]

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
class Labels:
    """Which of the full labels a run may see.

    Args:
        regime: see ``tagfill mask``; "full" hides nothing.
        seed: of the draw; 1200 is that of the papers.
        images: share of the training images that are used.
        reviewed: number of unknown entries that were reviewed and are known.
        order: of that review: "likely" as `tagfill recover` ranks them, "uncertain" those nearest
            to even chances, or "random".
    """

    regime: str = "single_positive"
    seed: int = PUBLISHED_SEED
    settings: Mapping[str, Any] = field(default_factory=dict)
    images: float = 1.0
    reviewed: int = 0
    order: Literal["likely", "uncertain", "random"] = "likely"

    def __post_init__(self) -> None:
        if not 0 < self.images <= 1:
            raise TagfillError(f"images must be above 0 and at most 1, got {self.images:g}")
        if self.order not in ("likely", "uncertain", "random"):
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
    labels: Labels = field(default_factory=Labels)
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
    labels: Labels | None = None
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
    """

    labels: str
    images: str | None = None
    inputs: Inputs = "images"
    features: str | None = None
    count: int = 48
    pixels: int = 48


@dataclass(frozen=True)
class Curve:
    """The columns of a table along an axis, or the epochs of one, drawn as one line per row.

    Args:
        axis: what the columns differ in.
        points: position of each column on it.
        epochs: a column whose validation metrics after every epoch are drawn instead.
        first: the first of these epochs.
        times: factor on the position of rows along it.
        level: a column drawn as level lines instead.
        log: whether the axis is logarithmic.
    """

    axis: str
    points: Mapping[str, float] = field(default_factory=dict)
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
