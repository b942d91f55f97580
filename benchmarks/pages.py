"""Tables of the result pages: what stands between two marks is written anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

MARK = "<!-- table -->\n"


def write_table(page: Path, lines: Sequence[str]) -> None:
    """Put the lines of a table in the place of those on a page."""
    before, _, after = page.read_text(encoding="utf-8").split(MARK)
    table = "\n".join(lines)
    page.write_text(f"{before}{MARK}{table}\n{MARK}{after}", encoding="utf-8")
