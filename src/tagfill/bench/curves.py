"""The curves of a recipe: its main metric along an axis, one line per row."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tagfill.analyze.drawing import GRAY, Drawing, color, new_figure, styled
from tagfill.bench.recipe import Recipe
from tagfill.bench.spec import Curve
from tagfill.bench.table import Report, main_split

Record = Mapping[str, Any]
Point = tuple[float, float, float]
"""Position on the axis, mean, standard deviation."""
_MARKERS = "osD^vP*"
LEAST_SPAN = 2.0
"""Points of mAP that an axis shows at least, so that small differences look small."""


def picture_name(recipe: Recipe, size: str, curve: str) -> str:
    """File name without its ending."""
    return f"{recipe.name}-{size}-{curve}"


def draw_curves(recipe: Recipe, size: str, report: Report, folder: Path) -> dict[str, list[Path]]:
    """Write every curve that has two points or more as PNG, SVG and CSV; the files by curve."""
    files = {}
    for name, curve in recipe.curves.items():
        drawing = _draw(recipe, curve, report)
        if drawing is not None:
            with styled():
                saved = drawing.save(folder, picture_name(recipe, size, name))
            files[name] = list(saved.values())
    return files


def _draw(recipe: Recipe, curve: Curve, report: Report) -> Drawing | None:
    records, split = report.records, main_split(recipe.metrics[0])
    key = recipe.metrics[0] if split == "train" else f"{split}_{recipe.metrics[0]}"
    if curve.epochs:
        lines = {row: list(_epochs(row, curve, report.history)) for row in recipe.rows}
    else:
        lines = {row: list(_points(row, curve, records, key)) for row in recipe.rows}
    levels = {row: _values(row, curve.level, records, key) for row in recipe.rows}
    if all(len(points) < 2 for points in lines.values()):
        return None
    rows: list[tuple[object, ...]] = []
    with styled():
        figure, axes = new_figure(size=(7.4, 3.8))
        axis = axes[0][0]
        shown = [row for row in recipe.rows if lines[row] or levels[row]]
        for number, row in enumerate(shown):
            title = recipe.rows[row].title
            if lines[row]:
                _line(axis, lines[row], number, title)
                rows += [(title, *point) for point in lines[row]]
                title = f"{title}, {recipe.columns[curve.level].title}" if curve.level else title
            if levels[row]:
                style = {"color": GRAY, "linestyle": ":"} if lines[row] else {"linestyle": "--"}
                level = statistics.fmean(levels[row])
                axis.axhline(level, label=title, **{"color": color(number), **style})
        if curve.log:
            _log_axis(axis, [] if curve.times else list(curve.points.values()))
        what = "validation mAP" if curve.epochs else f"{split} {recipe.metrics[0]}"
        axis.set(xlabel=curve.axis, ylabel=f"{what}, percent")
        widen(axis)
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return Drawing(figure, ("row", curve.axis, "mean", "standard deviation"), rows)


def _line(axis: Any, points: Sequence[Point], number: int, title: str) -> None:
    x, mean, spread = zip(*points, strict=True)
    marker = _MARKERS[number % len(_MARKERS)]
    look = {"color": color(number), "marker": marker, "markersize": 4.5}
    axis.errorbar(x, mean, yerr=spread, capsize=2.5, elinewidth=1, label=title, **look)


def _points(row: str, curve: Curve, records: Sequence[Record], key: str) -> Iterator[Point]:
    for column, x in curve.points.items():
        values = _values(row, column, records, key)
        if values:
            yield x * curve.times.get(row, 1), *_mean_and_spread(values)


def _epochs(row: str, curve: Curve, history: Sequence[Record]) -> Iterator[Point]:
    mine = [
        record for record in history if (record["row"], record["column"]) == (row, curve.epochs)
    ]
    for epoch in sorted({record["epoch"] for record in mine if record["epoch"] >= curve.first}):
        values = [record["val_mAP"] for record in mine if record["epoch"] == epoch]
        yield epoch, *_mean_and_spread(values)


def _mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def _values(row: str, column: str | None, records: Sequence[Record], key: str) -> list[float]:
    return [
        record[key]
        for record in records
        if record["row"] == row and record["column"] == column and record.get(key) is not None
    ]


def widen(axis: Any) -> None:
    """Make a flat curve look flat: the axis spans a least number of points."""
    low, high = axis.get_ylim()
    missing = max(0.0, LEAST_SPAN - (high - low))
    axis.set_ylim(low - missing / 2, high + missing / 2)


def _log_axis(axis: Any, ticks: Sequence[float]) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    axis.set_xscale("log")
    axis.xaxis.set_major_formatter("{x:,g}")
    if ticks:
        axis.xaxis.set_major_locator(FixedLocator(ticks))
        axis.xaxis.set_minor_locator(NullLocator())
