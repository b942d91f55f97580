"""Output of commands: one JSON object on stdout, or tables; logs go to stderr."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from tagfill.console import PlainConsole, json_text
from tagfill.files import json_value

console = PlainConsole()
log = PlainConsole(stderr=True, soft_wrap=True)


def print_json(result: Mapping[str, Any]) -> None:
    """One JSON object on stdout."""
    sys.stdout.write(json_text(result, indent=2, default=json_value) + "\n")


def say(*lines: str) -> None:
    """Print lines on stdout; long ones are not wrapped."""
    if lines:
        console.print("\n".join(lines), soft_wrap=True)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """A readable table: first column left, numbers right."""
    grid = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for number, column in enumerate(columns):
        grid.add_column(column, justify="left" if number == 0 else "right")
    for row in rows:
        grid.add_row(*(_shown(cell) for cell in row))
    return grid


def _shown(cell: object) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.2f}"
    if isinstance(cell, int):
        return f"{cell:,}"
    return str(cell)
