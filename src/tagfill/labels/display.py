"""Labels in a notebook: a line of counts and a small picture of the classes."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from tagfill.labels.table import NEGATIVE, POSITIVE, LabelTable

Bar = tuple[str, Sequence[tuple[float, str]], str]
"""A name, lengths with their colors, and what is written behind."""
SHOWN = 12
_POSITIVE, _NEGATIVE, _UNKNOWN = "#2a7f62", "#c8553d", "#d9d9d9"
_HEIGHT, _NAMES, _WIDTH = 18, 140, 360


def bars_svg(bars: Sequence[Bar], total: float) -> str:
    """Horizontal bars, one a line, as SVG.

    Args:
        bars: from top to bottom.
        total: the length that fills the width.
    """
    scale = _WIDTH / (total or 1)
    lines = []
    for number, (name, lengths, remark) in enumerate(bars):
        top, left = number * _HEIGHT, float(_NAMES)
        short = name if len(name) <= 20 else f"{name[:19]}…"
        lines.append(_text(_NAMES - 6, top, short, "end"))
        for length, color in lengths:
            wide = length * scale
            box = f'x="{left:.1f}" y="{top + 3}" width="{wide:.1f}" height="{_HEIGHT - 6}"'
            lines.append(f'<rect {box} fill="{color}"/>')
            left += wide
        lines.append(_text(_NAMES + _WIDTH + 6, top, remark, "start"))
    size = f'width="{_NAMES + _WIDTH + 110}" height="{_HEIGHT * len(bars)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(lines)}</svg>'


def table_html(table: LabelTable, title: str) -> str:
    """Counts of a label table, and its most frequent classes as bars."""
    positives = (table.values == POSITIVE).sum(axis=0)
    negatives = (table.values == NEGATIVE).sum(axis=0)
    bars: list[Bar] = []
    for column in np.argsort(-positives, kind="stable")[:SHOWN].tolist():
        yes, no = int(positives[column]), int(negatives[column])
        lengths = [(yes, _POSITIVE), (no, _NEGATIVE), (len(table) - yes - no, _UNKNOWN)]
        bars.append((table.classes[column], lengths, f"{yes:,} yes, {no:,} no"))
    more = len(table.classes) - len(bars)
    rest = f"<div>... and {more:,} more classes</div>" if more > 0 else ""
    return f"<div><b>{html.escape(title)}</b></div>{bars_svg(bars, len(table))}{rest}"


def _text(x: float, top: float, text: str, anchor: str) -> str:
    place = f'x="{x}" y="{top + _HEIGHT - 5}" text-anchor="{anchor}"'
    return f'<text {place} font-size="12" fill="currentColor">{html.escape(text)}</text>'
