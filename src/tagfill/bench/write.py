"""Write reports: Markdown, CSV, JSON, and curves of the main metric, one line per row."""

from __future__ import annotations

import platform
import shutil
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tagfill.analyze.drawing import GRAY, Drawing, color, new_figure, styled
from tagfill.bench.recipe import Curve, Recipe
from tagfill.bench.table import Report, Sheet, main_split
from tagfill.files import write_csv, write_json, write_text

VERSIONS = ("tagfill", "torch", "numpy")
Record = Mapping[str, Any]
Point = tuple[float, float, float]
"""Position on the axis, mean, standard deviation."""
_MARKERS = "osD^vP*"
LEAST_SPAN = 2.0
"""Points of mAP that an axis shows at least, so that small differences look small."""


def markdown(
    recipe: Recipe, size: str, command: str, report: Report, curves: Iterable[str] = ()
) -> str:
    """The page of a recipe, with pictures of the curves named."""
    own = recipe.size(size)
    versions = ", ".join(f"{name} {version(name)}" for name in VERSIONS)
    python = ".".join(platform.python_version_tuple()[:2])
    metadata = f"`{command}`, {datetime.now(UTC):%Y-%m-%d}, {versions}, Python {python}."
    parts = [f"# {recipe.title}", f"{recipe.shows}\n\nPaper: {recipe.paper}.", metadata]
    if recipe.kind == "runs":
        parts.append(_reading(recipe))
    if own.differs:
        differs = "\n".join(f"- {line}" for line in own.differs)
        heading = "What differs from the paper's set-up" if recipe.has_paper else "Set-up"
        parts.append(f"{heading}:\n\n{differs}")
    parts += [
        f"![{recipe.title}: {recipe.curves[name].axis}]({picture_name(recipe, size, name)}.png)"
        for name in curves
    ]
    parts += [f"## {sheet.title}\n\n{_markdown_table(sheet)}" for sheet in report.sheets]
    if report.notes:
        parts.append("Notes:\n\n" + "\n".join(f"- {note}" for note in report.notes))
    if report.failures:
        parts.append("Failed:\n\n" + "\n".join(f"- {failure}" for failure in report.failures))
    return "\n\n".join(parts) + "\n"


def write(report: Report, page: str, folder: Path, name: str) -> list[Path]:
    """Write NAME.md, NAME.csv and NAME.json."""
    files = [folder / f"{name}.{kind}" for kind in ("md", "csv", "json")]
    write_text(files[0], page)
    names = list(dict.fromkeys(name for record in report.records for name in record))
    write_csv(files[1], names, ([line.get(name, "") for name in names] for line in report.records))
    write_json(files[2], as_dict(report))
    return files


def publish(recipe: Recipe, page: str, pictures: Iterable[Path], folder: Path) -> list[Path]:
    """The page and its PNG pictures in a folder of pages; the files."""
    file = folder / f"{recipe.name}.md"
    write_text(file, page)
    shown = [picture for picture in pictures if picture.suffix == ".png"]
    return [file, *(Path(shutil.copy(picture, folder)) for picture in shown)]


def as_dict(report: Report) -> dict[str, Any]:
    """For JSON."""
    sheets = [
        {"title": sheet.title, "columns": sheet.headers, "rows": sheet.rows}
        for sheet in report.sheets
    ]
    return {"tables": sheets, "cells": list(report.records), "failures": list(report.failures)}


def _reading(recipe: Recipe) -> str:
    seeds = (
        "draws of the observed labels" if recipe.vary == "mask" else "training seeds on one mask"
    )
    text = (
        f"Mean ± standard deviation over {seeds}; epochs are chosen on the fully labeled"
        " validation images, test images are used once."
    )
    if recipe.baseline is not None:
        text += " Intervals: paired bootstrap over test images, 1,000 resamples, seeds averaged."
    return text


def _markdown_table(sheet: Sheet) -> str:
    lines = [sheet.headers, tuple("---" for _ in sheet.headers), *sheet.rows]
    escaped = [[cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)


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
    drawn = recipe.rows if curve.rows is None else curve.rows
    if curve.epochs:
        lines = {row: list(_epochs(row, curve, report.history)) for row in drawn}
    else:
        lines = {row: list(_points(row, curve, records, key)) for row in drawn}
    levels = {row: _values(row, curve.level, records, key) for row in lines}
    if all(len(points) < 2 for points in lines.values()):
        return None
    rows: list[tuple[object, ...]] = []
    with styled():
        figure, axes = new_figure(size=(7.4, 3.8))
        axis = axes[0][0]
        shown = [row for row in drawn if lines[row] or levels[row]]
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
