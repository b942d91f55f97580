"""A small table: rows in Python, text in a terminal, pictures in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from tagfill.errors import TagfillError
from tagfill.files import atomic_path, write_csv
from tagfill.images import open_image

Row = Mapping[str, Any]
_TEXT_ROWS, _HTML_ROWS, _THUMBNAIL = 12, 24, 96


class Table(Sequence[Row]):
    """Rows with the same columns, in a fixed order.

    Args:
        pictures: image files by the value of the column ``image``.
        bars: columns of percentages that HTML shows as bars.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        *,
        title: str = "",
        pictures: Mapping[str, Path] | None = None,
        bars: Sequence[str] = (),
    ) -> None:
        self.rows, self.title, self._pictures = list(rows), title, pictures or {}
        self._bars = bars

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.rows[0]) if self.rows else ()

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Table: ...
    def __getitem__(self, index: int | slice) -> Row | Table:
        if isinstance(index, slice):
            shown = {"pictures": self._pictures, "bars": self._bars}
            return Table(self.rows[index], title=self.title, **shown)  # type: ignore[arg-type]
        return self.rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def column(self, name: str) -> list[Any]:
        """The values of one column."""
        if name not in self.columns:
            raise TagfillError(f"no column {name!r}", remedy=f"columns: {', '.join(self.columns)}")
        return [row[name] for row in self.rows]

    def to_arrow(self) -> Any:
        """As a ``pyarrow.Table``; its ``to_pandas`` makes a data frame."""
        import pyarrow as pa

        return pa.Table.from_pylist([dict(row) for row in self.rows])

    def to_pandas(self) -> Any:
        """As a pandas data frame, where pandas is installed."""
        return self.to_arrow().to_pandas()

    def save(self, path: str | Path) -> Path:
        """Write .csv or .parquet."""
        target = Path(path)
        if target.suffix == ".parquet":
            from pyarrow import parquet

            with atomic_path(target) as draft:
                parquet.write_table(self.to_arrow(), draft)
        elif target.suffix == ".csv":
            write_csv(target, self.columns, (list(row.values()) for row in self.rows))
        else:
            raise TagfillError(
                "the file suffix names no known format", file=target, remedy="use .csv, .parquet"
            )
        return target

    def __repr__(self) -> str:
        shown = [self.columns, *(map(_text, row.values()) for row in self.rows[:_TEXT_ROWS])]
        cells = [list(line) for line in shown]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in cells]
        more = len(self) - _TEXT_ROWS
        rest = [f"... and {more:,} more"] if more > 0 else []
        return "\n".join([f"{self.title}: {len(self):,} rows", *lines, *rest])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        picture = "<th></th>" if self._pictures else ""
        lines = [f"<tr>{picture}{head}</tr>"]
        for row in self.rows[:_HTML_ROWS]:
            cells = "".join(f"<td>{self._html_cell(*item)}</td>" for item in row.items())
            if self._pictures:
                file = self._pictures.get(str(row.get("image")))
                cells = f"<td>{'' if file is None else thumbnail(file)}</td>{cells}"
            lines.append(f"<tr>{cells}</tr>")
        more = len(self) - _HTML_ROWS
        rest = f"<p>... and {more:,} more</p>" if more > 0 else ""
        title = f"<b>{html.escape(self.title)}</b>: {len(self):,} rows"
        return f"{title}<table>{''.join(lines)}</table>{rest}"

    def _html_cell(self, column: str, value: object) -> str:
        text = html.escape(_text(value))
        if column not in self._bars or not isinstance(value, float):
            return text
        bar = f'<rect width="{value:.1f}" height="10" fill="#33658a"/>'
        return f'<svg width="100" height="10">{bar}</svg> {text}'


def thumbnail(file: Path, side: int = _THUMBNAIL) -> str:
    """A small picture for HTML; nothing if the file cannot be read."""
    from tagfill.report.pictures import data_uri

    try:
        picture = open_image(file, side)
    except TagfillError:
        return ""
    picture.thumbnail((side, side))
    return f'<img alt="" src="{data_uri(picture)}">'


def _text(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
