"""A font with a few letters, and a machine on which it was just installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager

from tagfill.explain import fonts


def write_font(path: Path, family: str, letters: str) -> Path:
    """A font in which every letter is the same solid block."""
    names = [".notdef", *(f"block{number}" for number in range(len(letters)))]
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({ord(letter): names[1 + n] for n, letter in enumerate(letters)})
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in ((0, 800), (900, 800), (900, 0)):
        pen.lineTo(corner)
    pen.closePath()
    builder.setupGlyf(dict.fromkeys(names, pen.glyph()))
    builder.setupHorizontalMetrics(dict.fromkeys(names, (1000, 0)))
    builder.setupHorizontalHeader(ascent=900, descent=-200)
    builder.setupNameTable({"familyName": family, "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(path)
    return path


@contextmanager
def installed(*files: Path) -> Iterator[None]:
    """Only these fonts are there besides those that matplotlib brings."""
    known = font_manager.fontManager.ttflist
    bundled = [font for font in known if font.name.startswith(("DejaVu", "Last Resort"))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(font_manager.fontManager, "ttflist", bundled)
        patch.setattr(font_manager, "findSystemFonts", lambda: [str(file) for file in files])
        _forget()
        yield
    _forget()


def _forget() -> None:
    for kept in (fonts.fallbacks, fonts._files, font_manager.fontManager._findfont_cached):
        kept.cache_clear()
