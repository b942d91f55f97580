"""Write reports: Markdown, CSV and JSON."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tagfill.bench.curves import picture_name
from tagfill.bench.recipe import Recipe
from tagfill.bench.table import Report, Sheet
from tagfill.files import write_csv, write_json, write_text

VERSIONS = ("tagfill", "torch", "numpy")


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
