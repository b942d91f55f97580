"""`tagfill methods`: all methods, or details of one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table

from tagfill.cli.output import console, print_json
from tagfill.trust import trust

if TYPE_CHECKING:
    from tagfill.methods._describe import Description


def methods(name: str | None = None, /, *, json: bool = False) -> None:
    """List the methods, or describe one.

    Args:
        name: a method, or a Python file that defines one; all methods by default.
        json: print one JSON object.
    """
    from tagfill.methods import names
    from tagfill.methods._describe import describe

    if name is None:
        described = [describe(name) for name in names()]
        if json:
            print_json({"methods": [dataclasses.asdict(method) for method in described]})
        else:
            _print_list(described)
    elif json:
        print_json(dataclasses.asdict(describe(trust(name))))
    else:
        _print_one(describe(trust(name)))


def _print_list(described: list[Description]) -> None:
    table = Table(header_style="bold", box=None, pad_edge=False)
    table.add_column("method", no_wrap=True)
    for column in ("what it is", "source"):
        table.add_column(column)
    for method in described:
        title = f"{method.title}: {method.alias_of}" if method.alias_of else method.title
        table.add_row(method.name, title, method.source)
    console.print(table)
    console.print("\n`tagfill methods NAME` explains one; `--json` prints everything.")


def _print_one(method: Description) -> None:
    alias = f", another name for {method.alias_of}" if method.alias_of else ""
    console.print(f"{method.name}: {method.title}{alias}", style="bold")
    console.print(f"{method.source}\n")
    _print_text(method.text)
    if method.needs:
        console.print("Needs", style="bold")
        _print_entries(method.needs)
    if method.settings:
        console.print("Settings", style="bold")
        _print_entries(
            {
                f"--method.{setting.name} {setting.default} ({setting.type})": setting.doc
                for setting in method.settings
            }
        )
    if method.presets:
        console.print("Presets", style="bold")
        _print_entries(
            {
                f"--method.preset {preset}": ", ".join(f"{k} {v}" for k, v in values.items())
                for preset, values in method.presets.items()
            }
        )


def _print_text(text: str) -> None:
    """Paragraphs fill the terminal's width; formulas, which are indented, keep their lines."""
    for paragraph in text.split("\n\n"):
        if paragraph.startswith(" "):
            console.print(paragraph, soft_wrap=True)
        else:
            console.print(" ".join(paragraph.split("\n")))
        console.print()


def _print_entries(entries: Mapping[str, str]) -> None:
    for head, words in entries.items():
        console.print(f"  {head}")
        console.print(Padding(words, (0, 0, 0, 6)))
    console.print()
