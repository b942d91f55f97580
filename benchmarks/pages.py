"""Tables of the result pages: what stands between two marks is written anew."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path


def write_table(page: Path, lines: Sequence[str], name: str = "table") -> None:
    """Put the lines of a table in the place of those on a page, between marks of that name."""
    mark = f"<!-- {name} -->\n"
    before, _, after = page.read_text(encoding="utf-8").split(mark)
    table = "\n".join(lines)
    page.write_text(f"{before}{mark}{table}\n{mark}{after}", encoding="utf-8")


def show_rows(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    page: Path | None,
    name: str = "table",
) -> None:
    """Print rows as they come; at the end they are the table of the page, if there is one."""
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for row in rows:
        lines.append(f"| {' | '.join(row)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    if page is not None:
        write_table(page, lines, name)
