"""Untrusted text in terminals and files: control characters, markup, odd file names.

Class names and file names are untrusted. On a terminal their control characters are shown as
escapes and rich's markup is off. In files a name that is not UTF-8 is quoted reversibly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.text import Text

Tell = Callable[[str], None]
"""Says what is being done."""
Progress = Callable[[int, int], None]
"""Told how much is done, and of how much."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|(.))", re.DOTALL)
_QUOTE = "$'"


def printable(text: str) -> str:
    """Text with control characters as escapes; line feeds and tabs stay."""
    return _CONTROL.sub(_escape, text)


def quote_name(name: str) -> str:
    """A file name as text that any encoding holds.

    Almost every name stays as it is. One with bytes that are not UTF-8 becomes ``$'caf\\xe9.jpg'``,
    which shells understand and ``unquote_name`` reads.
    """
    if not name.startswith(_QUOTE) and not _SURROGATE.search(name):
        return name
    plain = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"{_QUOTE}{_SURROGATE.sub(_escape, plain)}'"


def unquote_name(text: str) -> str:
    """The name that ``quote_name`` wrote."""
    if not (text.startswith(_QUOTE) and text.endswith("'") and len(text) > len(_QUOTE)):
        return text
    return _ESCAPED.sub(_unescape, text[len(_QUOTE) : -1])


def json_text(value: Any, **settings: Any) -> str:
    """JSON in UTF-8; what would steer a terminal, or is no character, is escaped."""
    text = json.dumps(value, ensure_ascii=False, **settings)
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class PlainConsole(Console):
    """A console without markup and control characters."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"markup": False, "highlight": False, "emoji": False, **settings})

    def render_str(self, text: str, **settings: Any) -> Text:
        """All strings pass here, also those in tables."""
        return super().render_str(printable(text), **settings)

    def on_broken_pipe(self) -> None:
        """Leave a closed pipe to the command line, which ends the command quietly."""
        raise BrokenPipeError


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _unescape(match: re.Match[str]) -> str:
    byte, unit, plain = match.groups()
    if byte is not None:
        return chr(0xDC00 + int(byte, 16))
    return plain if unit is None else chr(int(unit, 16))
