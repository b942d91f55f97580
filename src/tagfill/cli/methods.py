"""`tagfill methods`: all methods, or details of one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.padding import Padding

from tagfill.cli.options import Json
from tagfill.cli.output import console, print_json, say, show_table
from tagfill.trust import trust

if TYPE_CHECKING:
    from tagfill.methods._describe import Description


def methods(name: str | None = None, /, *, json: Json = False) -> None:
    """List the methods, or describe one: formula, paper, settings.

    Args:
        name: A method, or a Python file that defines one; all methods by default.
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
    rows = [
        (
            method.name,
            f"{method.title}: {method.alias_of}" if method.alias_of else method.title,
            method.source,
        )
        for method in described
    ]
    show_table("", ("method", "description", "source"), rows, text=True)
    say("`tagfill methods NAME` explains one; `--json` prints everything.")


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
            say(paragraph)
        else:
            console.print(" ".join(paragraph.split("\n")))
        console.print()


def _print_entries(entries: Mapping[str, str]) -> None:
    for head, words in entries.items():
        console.print(f"  {head}")
        console.print(Padding(words, (0, 0, 0, 6)))
    console.print()
