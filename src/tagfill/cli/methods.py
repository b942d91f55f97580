"""`tagfill methods`: all methods, or details of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
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
            print_json({"methods": described})
            return
        titles = [": ".join(filter(None, (m.title, m.alias_of))) for m in described]
        rows = [(m.name, title, m.source) for m, title in zip(described, titles, strict=True)]
        show_table("", ("method", "description", "source"), rows, text=True)
        say("`tagfill methods NAME` explains one; `--json` prints everything.")
    elif json:
        print_json(asdict(describe(trust(name))))
    else:
        _print_one(describe(trust(name)))


def _print_one(method: Description) -> None:
    alias = f", another name for {method.alias_of}" if method.alias_of else ""
    console.print(f"{method.name}: {method.title}{alias}", style="bold")
    console.print(f"{method.source}\n")
    _print_text(method.text)
    settings = {
        f"--method.{setting.name} {setting.default} ({setting.type})": setting.doc
        for setting in method.settings
    }
    presets = {
        f"--method.preset {preset}": ", ".join(f"{k} {v}" for k, v in values.items())
        for preset, values in method.presets.items()
    }
    _print_entries("Needs", method.needs)
    _print_entries("Settings", settings)
    _print_entries("Presets", presets)


def _print_text(text: str) -> None:
    """Paragraphs fill the terminal's width; formulas, which are indented, keep their lines."""
    for paragraph in text.split("\n\n"):
        if paragraph.startswith(" "):
            say(paragraph)
        else:
            console.print(" ".join(paragraph.split("\n")))
        console.print()


def _print_entries(title: str, entries: Mapping[str, str]) -> None:
    if not entries:
        return
    console.print(title, style="bold")
    for head, words in entries.items():
        console.print(f"  {head}")
        console.print(Padding(words, (0, 0, 0, 6)))
    console.print()
