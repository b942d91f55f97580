"""A figure with its data, the common style, and the files to write."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tagfill.explain.fonts import fallbacks
from tagfill.files import atomic_path, write_csv

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette, which color-blind readers can tell apart."""
GRAY = "#8A8A8A"
DOTS_PER_INCH = 130
_GLYPH = re.compile(r"Glyph (\d+) ")
_STYLE = {
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.8,
    "svg.hashsalt": "tagfill",
    "svg.fonttype": "none",
}


@dataclass(frozen=True, eq=False)
class Drawing:
    """A finished figure.

    Args:
        header, rows: its data as a table.
        findings: what it shows, in numbers.
    """

    figure: Figure
    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    findings: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def save(self, folder: Path, name: str) -> dict[str, Path]:
        """Write the picture as PNG and SVG, and the data as CSV."""
        files = {suffix: folder / f"{name}.{suffix}" for suffix in ("png", "svg", "csv")}
        with atomic_path(files["png"]) as png, atomic_path(files["svg"]) as svg:
            self.figure.savefig(png, dpi=DOTS_PER_INCH)
            self.figure.savefig(svg, metadata={"Date": None})
        rows = (
            [float(f"{entry:.6g}") if isinstance(entry, float) else entry for entry in row]
            for row in self.rows
        )
        write_csv(files["csv"], self.header, rows)
        return files


@contextmanager
def styled() -> Iterator[set[str]]:
    """Draw and save with the common look; gives the characters that no installed font has.

    They are collected from matplotlib's warnings, which are not shown.
    """
    families = [*mpl.rcParams["font.family"], *fallbacks()]
    letters: set[str] = set()
    with mpl.rc_context({**_STYLE, "font.family": families}), warnings.catch_warnings():
        warnings.filterwarnings("always", message=_GLYPH.pattern)
        show = warnings.showwarning

        def collect(message: Warning | str, *location: Any, **more: Any) -> None:
            glyph = _GLYPH.match(str(message))
            if glyph is None:
                show(message, *location, **more)
            else:
                letters.add(chr(int(glyph[1])))

        warnings.showwarning = collect
        yield letters


def new_figure(
    rows: int = 1, columns: int = 1, *, size: tuple[float, float] = (4.6, 3.4), **sharing: Any
) -> tuple[Figure, Any]:
    """A figure and its axes [rows, columns]; ``size`` in inches is that of one of them."""
    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **sharing)


def color(number: int) -> str:
    """The color of the n-th run."""
    return COLORS[number % len(COLORS)]


def whole_numbers(axis: Any) -> None:
    """Only whole numbers along the x axis."""
    from matplotlib.ticker import MaxNLocator

    axis.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
