"""From outcomes to tables: mean and spread, the paper's number beside ours, differences.

A difference of two rows is measured on the same resampled test images.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tagfill.arrays import Floats
from tagfill.bench.cells import Outcome, kept_scores
from tagfill.bench.recipe import AVERAGE, METRICS, ON_TRAINING, Recipe, Row
from tagfill.evaluate.resampling import (
    Difference,
    Statistic,
    Weights,
    mean_average_precision_statistic,
    paired_bootstrap,
)
from tagfill.files import write_json
from tagfill.train.folder import RunFolder

NOT_RUN = "not run"
NOTHING = "-"
"""Shown where there is nothing to measure."""
_DETAILED = 3
"""Up to this many columns get a table each; more are put side by side."""
_SHOWN = 80
"""Length at which error messages are cut."""
RESAMPLES = 1000


@dataclass(frozen=True)
class Sheet:
    """One readable table: texts in rows."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Report:
    """Results of a recipe.

    Args:
        sheets: tables for people.
        records: the metrics behind them, one a line of the CSV file.
        history: validation mAP after every epoch, where the recipe draws it.
    """

    sheets: tuple[Sheet, ...]
    records: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    history: tuple[Mapping[str, Any], ...] = ()


@dataclass
class Entry:
    """One entry of a table: the outcomes of its seeds."""

    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def finished(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.error is None]

    @property
    def error(self) -> str | None:
        return next((outcome.error for outcome in self.outcomes if outcome.error is not None), None)

    def values(self, metric: str, split: str) -> list[float]:
        """The metrics of all seeds."""
        measured = [outcome.metrics.get(metric, {}).get(split) for outcome in self.finished]
        return [value for value in measured if value is not None]

    def text(self, metric: str, split: str) -> str:
        """Mean and spread, or the reason it is missing."""
        if self.error is not None:
            return f"failed: {self.error[:_SHOWN]}"
        return spread(self.values(metric, split)) or (NOTHING if self.finished else NOT_RUN)


class Table:
    """The outcomes of a recipe by row and column; differences are cached in ``out``."""

    def __init__(self, recipe: Recipe, outcomes: Iterable[Outcome], out: Path) -> None:
        self.recipe, self.out = recipe, out
        self.entries: dict[tuple[str, str], Entry] = {}
        for outcome in outcomes:
            position = (outcome.cell.row, outcome.cell.column)
            self.entries.setdefault(position, Entry()).outcomes.append(outcome)

    def report(self) -> Report:
        """The whole report as text."""
        return Report(
            sheets=tuple(self._sheets()),
            records=tuple(
                record
                for name, row in self.recipe.rows.items()
                for column in self.recipe.columns
                for record in self._records(name, row, column)
            ),
            notes=tuple(f"{row.title}: {row.note}." for row in self._rows() if row.note),
            failures=tuple(
                f"{row} / {column}: {entry.error}"
                for (row, column), entry in self.entries.items()
                if entry.error is not None
            ),
            history=tuple(self._history()),
        )

    def difference(self, row: str, column: str) -> Difference | None:
        """Test mAP against the baseline, where both are finished."""
        baseline = self.recipe.baseline
        if baseline is None or row == baseline:
            return None
        ours, theirs = (self._entry(name, column).finished for name in (row, baseline))
        return difference(ours, theirs, self.out) if ours and theirs else None

    def average(self, row: str, metric: str, split: str) -> list[float]:
        """Mean over all columns of every seed that all of them have."""
        columns = [self._entry(row, name).values(metric, split) for name in self.recipe.columns]
        return [statistics.fmean(seeds) for seeds in zip(*columns, strict=False)]

    def _entry(self, row: str, column: str) -> Entry:
        return self.entries.get((row, column), Entry())

    def _rows(self) -> Iterable[Row]:
        return self.recipe.rows.values()

    def _sheets(self) -> Iterator[Sheet]:
        filled = {column for _, column in self.entries}
        run = [name for name in self.recipe.columns if name in filled]
        detailed = len(run) <= _DETAILED
        if len(self.recipe.columns) > 1 or not run:
            for metric in self.recipe.metrics:
                if not detailed or metric == self.recipe.metrics[0] or self._quotes(metric):
                    yield self._overview(metric, main_split(metric), with_paper=True)
        if detailed:
            for column in run:
                yield self._details(column)
        elif main_split(self.recipe.metrics[0]) == "test":
            yield self._overview(self.recipe.metrics[0], "val", with_paper=False)
            if self.recipe.baseline is not None:
                yield self._differences()

    def _quotes(self, metric: str) -> bool:
        return any(self._paper(row, metric) for row in self._rows())

    def _paper(self, row: Row, metric: str) -> Mapping[str, float]:
        return row.paper if metric == self.recipe.metrics[0] else row.paper_more.get(metric, {})

    def _overview(self, metric: str, split: str, *, with_paper: bool) -> Sheet:
        titles = [column.title for column in self.recipe.columns.values()]
        rows = [
            (row.title, *self._overview_cells(name, row, metric, split, with_paper))
            for name, row in self.recipe.rows.items()
        ]
        quoted = with_paper and self._quotes(metric)
        paper = "; the paper's number in parentheses" if quoted else ""
        averaged = ["average"] if self.recipe.average else []
        title = f"{_split_name(split)}: {METRICS[metric]}{paper}"
        return Sheet(title, ("", *titles, *averaged), tuple(rows))

    def _overview_cells(
        self, name: str, row: Row, metric: str, split: str, with_paper: bool
    ) -> Iterator[str]:
        paper = self._paper(row, metric)
        for column in self.recipe.columns:
            if row.is_quoted:
                text = "quoted"
            else:
                entry = self._entry(name, column)
                text = entry.text(metric, split) if row.belongs_to(column) else NOTHING
            yield _with_paper(text, paper.get(column) if with_paper else None)
        if self.recipe.average:
            mean = spread(self.average(name, metric, split))
            text = "quoted" if row.is_quoted else mean or NOT_RUN
            yield _with_paper(text, paper.get(AVERAGE) if with_paper else None)

    def _details(self, column: str) -> Sheet:
        metric = self.recipe.metrics[0]
        splits = ("train",) if main_split(metric) == "train" else ("val", "test")
        compared = self.recipe.baseline is not None and metric == "mAP"
        headers = ["", "seeds", *(_split_name(split).lower() for split in splits)]
        if compared:
            headers.append(f"minus {self.recipe.rows[self.recipe.baseline or ''].title} [95 %]")
        more = self.recipe.metrics[1:]
        published = any(column in row.code for row in self._rows())
        quoted = any(column in row.paper for row in self._rows())
        headers += [*more, *["published code"] * published, *["paper"] * quoted]
        rows = []
        for name, row in self.recipe.rows.items():
            entry = self._entry(name, column)
            if not entry.outcomes and column not in row.paper:
                continue
            texts = [entry.text(metric, split) for split in splits]
            cells = [row.title, str(len(entry.finished) or ""), *texts]
            if compared:
                cells.append(_interval(self.difference(name, column)))
            cells += [entry.text(other, main_split(other)) for other in more]
            cells += [_number(row.code.get(column))] * published
            cells += [_number(row.paper.get(column))] * quoted
            rows.append(tuple(cells))
        return Sheet(self.recipe.columns[column].title, tuple(headers), tuple(rows))

    def _differences(self) -> Sheet:
        columns = self.recipe.columns
        rows = [
            (row.title, *(_interval(self.difference(name, column)) for column in columns))
            for name, row in self.recipe.rows.items()
            if not row.is_quoted and name != self.recipe.baseline
        ]
        baseline = self.recipe.rows[self.recipe.baseline or ""].title
        titles = (column.title for column in columns.values())
        return Sheet(f"Test mAP minus {baseline}, 95 % interval", ("", *titles), tuple(rows))

    def _records(self, name: str, row: Row, column: str) -> Iterator[dict[str, Any]]:
        labels = {"row": name, "column": column, "method": row.method or ""}
        quoted = {"paper": row.paper.get(column), "published_code": row.code.get(column)}
        outcomes = self._entry(name, column).outcomes
        if not outcomes:
            status = "quoted" if row.is_quoted else NOT_RUN
            yield {**labels, "seed": None, "status": status, **quoted}
        for outcome in outcomes:
            status = "done" if outcome.error is None else f"failed: {outcome.error}"
            metrics = {
                f"{split}_{metric}" if split != "train" else metric: value
                for metric, splits in outcome.metrics.items()
                for split, value in splits.items()
            }
            run = {"seed": outcome.cell.seed, "status": status, "cell": outcome.folder.name}
            yield {**labels, **run, **quoted, **metrics}

    def _history(self) -> Iterator[dict[str, Any]]:
        drawn = {curve.epochs for curve in self.recipe.curves.values()} - {None}
        for (row, column), entry in self.entries.items():
            for outcome in entry.finished if column in drawn else ():
                labels = {"row": row, "column": column, "seed": outcome.cell.seed}
                for event in RunFolder(outcome.folder).read_events():
                    if event["event"] == "epoch" and event["stage"] == event["stages"]:
                        yield {**labels, "epoch": event["epoch"], "val_mAP": event["score"]}


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation over seeds; empty without values."""
    if not values:
        return ""
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{statistics.fmean(values):.2f} ± {statistics.stdev(values):.2f}"


def main_split(metric: str) -> str:
    """Where a metric is measured."""
    return "train" if metric in ON_TRAINING else "test"


def _split_name(split: str) -> str:
    return {"val": "Validation", "test": "Test", "train": "Training images"}[split]


def _with_paper(text: str, paper: float | None) -> str:
    return text if paper is None else f"{text} ({paper})"


def _number(value: float | None) -> str:
    return "" if value is None else str(value)


def _interval(difference: Difference | None) -> str:
    if difference is None:
        return ""
    return f"{difference.value:+.2f} [{difference.low:+.2f}, {difference.high:+.2f}]"


def difference(
    first: Sequence[Outcome], second: Sequence[Outcome], out: Path, resamples: int = RESAMPLES
) -> Difference | None:
    """Test mAP of the first minus the second, each the mean over its seeds, with a 95 % interval.

    Images are resampled, seeds are not. The result is cached, as it takes seconds. None if the
    two were not tested on the same labels.
    """
    names = [[outcome.folder.name for outcome in side] for side in (first, second)]
    key = hashlib.blake2b(json.dumps([names, resamples]).encode(), digest_size=10).hexdigest()
    cache = out / "differences" / f"{key}.json"
    if cache.is_file():
        return Difference(**json.loads(cache.read_text(encoding="utf-8")))
    labels = [kept_scores(outcome.folder)[1] for outcome in (*first, *second)]
    if not all(np.array_equal(labels[0], label) for label in labels):
        return None
    result = paired_bootstrap(_mean(first), _mean(second), len(labels[0]), resamples=resamples)
    write_json(cache, asdict(result))
    return result


def _mean(outcomes: Sequence[Outcome]) -> Statistic:
    """The mean over seeds, as a statistic of the images."""
    statistics = [_statistic(outcome.folder) for outcome in outcomes]

    def statistic(weights: Weights) -> Floats:
        return np.asarray(np.mean([statistic(weights) for statistic in statistics], axis=0))

    return statistic


@lru_cache(maxsize=16)
def _statistic(folder: Path) -> Statistic:
    """The mAP of a cell; resamples are cached, since the baseline is used many times."""
    plain = mean_average_precision_statistic(*kept_scores(folder))
    known: dict[bytes, Floats] = {}

    def statistic(weights: Weights) -> Floats:
        key = hashlib.blake2b(weights.tobytes()).digest()
        if key not in known:
            known[key] = plain(weights)
        return known[key]

    return statistic
