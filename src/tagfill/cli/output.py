"""Output of commands: one JSON object on stdout, or tables; logs go to stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, TypeVar

from rich import box
from rich.table import Table

from tagfill.console import PlainConsole, json_text
from tagfill.files import json_value

Result = TypeVar("Result", bound=Mapping[str, Any])

console = PlainConsole()
log = PlainConsole(stderr=True, soft_wrap=True)


def emit(result: Result, view: Callable[[Result], None], *, json: bool) -> None:
    """Print a result as one JSON object, or as its view shows it."""
    if json:
        print_json(result)
    else:
        view(result)


def print_json(result: Mapping[str, Any]) -> None:
    """One JSON object on stdout; dataclasses become objects too."""

    def plain(value: Any) -> Any:
        return asdict(value) if is_dataclass(value) else json_value(value)  # type: ignore[arg-type]

    sys.stdout.write(json_text(result, indent=2, default=plain) + "\n")


def say(*lines: str) -> None:
    """Print lines on stdout; long ones are not wrapped."""
    if lines:
        console.print("\n".join(lines), soft_wrap=True)


def show_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    text: bool = False,
) -> None:
    """Print a table: the first column left, numbers right; all columns left if they hold text."""
    style = {} if title else {"box": None if text else box.SIMPLE_HEAD, "pad_edge": False}
    grid = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        **style,  # type: ignore[arg-type]
    )
    for number, column in enumerate(columns):
        grid.add_column(column, justify="left" if text or not (number and column) else "right")
    for row in rows:
        grid.add_row(*(_shown(cell) for cell in row))
    console.print(grid)


def _shown(cell: object) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.2f}"
    if isinstance(cell, int):
        return f"{cell:,}"
    return str(cell)
