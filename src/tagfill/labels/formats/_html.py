"""Tables of web pages, which some programs save under the name of a spreadsheet."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from tagfill.labels.formats._text import head, read_text

Rows = list[list[str]]

_CELLS = ("td", "th")


def has_tables(path: Path) -> bool:
    """Whether a file is a web page with a table."""
    text = head(path).lstrip("\ufeff \t\r\n")
    return text.startswith("<") and "<table" in text.lower()


def html_tables(path: Path) -> dict[str, Rows]:
    """The rows of all tables in a web page; a table inside another one belongs to it."""
    parser = _Tables()
    parser.feed(read_text(path))
    parser.close()
    return {f"table {number}": rows for number, rows in enumerate(parser.tables, 1)}


class _Tables(HTMLParser):
    """Gathers the texts of cells."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[Rows] = []
        self.depth = 0
        self.in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.depth += 1
            if self.depth == 1:
                self.tables.append([])
        if self.depth != 1:
            return
        rows = self.tables[-1]
        if tag == "tr":
            rows.append([])
        elif tag in _CELLS and rows:
            width = dict(attrs).get("colspan") or "1"
            rows[-1] += [""] * (min(int(width), 100) if width.isdecimal() else 1)
            self.in_cell = True
        elif tag == "br" and self.in_cell:
            rows[-1][-1] += "\n"

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self.depth = max(self.depth - 1, 0)
        if tag in (*_CELLS, "tr", "table"):
            self.in_cell = False

    def handle_data(self, data: str) -> None:
        if self.in_cell:
            self.tables[-1][-1][-1] += data
