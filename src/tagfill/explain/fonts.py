"""Fonts for names in any script: the usual one, and those installed that have other letters."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cache

from matplotlib import font_manager

_CJK = tuple(f"Noto Sans {kind}{at}" for kind in ("CJK ", "") for at in ("SC", "JP", "KR", "TC"))
_SCRIPTS = ("Arabic", "Hebrew", "Devanagari", "Bengali", "Tamil", "Thai", "Georgian", "Armenian")
_LINUX = ("WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback", "Unifont")
_WINDOWS = ("Microsoft YaHei", "SimHei", "Yu Gothic", "Malgun Gothic", "Nirmala UI", "Segoe UI")
_MACOS = ("Hiragino Sans", "Hiragino Sans GB", "PingFang SC", "Apple SD Gothic Neo")
_NOTO = ("Noto Sans", *_CJK, *(f"Noto Sans {script}" for script in _SCRIPTS))
FALLBACKS = (*_NOTO, *_LINUX, "Arial Unicode MS", *_WINDOWS, *_MACOS, "Noto Emoji", "Symbola")
"""Font families with letters that the default font lacks."""
SHOWN = 10
"""Most characters to list in a note."""


@cache
def fallbacks() -> tuple[str, ...]:
    """The installed ones of ``FALLBACKS``; matplotlib's own list lacks those installed lately."""
    listed = {font.fname for font in font_manager.fontManager.ttflist}
    for file in sorted({*font_manager.findSystemFonts()} - listed):
        with suppress(OSError, RuntimeError, ValueError):
            font_manager.fontManager.addfont(file)
    installed = set(font_manager.get_font_names())
    return tuple(family for family in FALLBACKS if family in installed)


def font_file(letter: str) -> str:
    """Path of the first font that has a letter; of the usual one where none has."""
    files = _files()
    return next((file for file in files if ord(letter) in _letters(file)), files[0])


def undrawable(texts: Iterable[str]) -> set[str]:
    """The visible characters that no font has."""
    letters = {letter for text in texts for letter in text if letter.isprintable()}
    return {letter for letter in letters if ord(letter) not in _letters(font_file(letter))}


def boxes_note(letters: Iterable[str]) -> list[str]:
    """A note on characters that cannot be drawn; none if there are none."""
    lacking = sorted(letters)
    if not lacking:
        return []
    more = len(lacking) - SHOWN
    shown = " ".join(lacking[:SHOWN]) + (f" and {more} more" if more > 0 else "")
    remedy = "install a font that has them (Noto Sans CJK for Chinese, Japanese and Korean)"
    return [f"no installed font has {shown}: drawn as boxes; {remedy}"]


@cache
def _files() -> tuple[str, ...]:
    usual = font_manager.findfont(font_manager.FontProperties())
    return (usual, *(font_manager.findfont(family) for family in fallbacks()))


@cache
def _letters(file: str) -> frozenset[int]:
    return frozenset(font_manager.get_font(file).get_charmap())
