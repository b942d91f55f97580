"""Texts that a spreadsheet would take for formulas: guarded when written, unguarded when read."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from typing import IO

_FORMULA = re.compile(r"'*(?:[=@\t\r]|[+-](?![\w./ -]*\Z))", re.DOTALL)
_GUARDED = re.compile(r"'+(?:[=@\t\r]|[+-](?![\w./ -]*\Z))", re.DOTALL)


def with_guard(text: str) -> str:
    """The text with an apostrophe before what a spreadsheet would run as a formula.

    >>> with_guard("=cmd|' /C calc'!A0"), with_guard("a.jpg"), with_guard("-1")
    ("'=cmd|' /C calc'!A0", 'a.jpg', '-1')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def without_guard(text: str) -> str:
    """The text as it was before ``with_guard``."""
    return text[1:] if text.startswith("'") and _GUARDED.match(text) else text


class CsvWriter:
    """The one way CSV files are written: guarded texts, one line end, no surprises.

    Args:
        file: an open text file.
        delimiter: between fields.
        line_end: after records.
    """

    def __init__(self, file: IO[str], *, delimiter: str = ",", line_end: str = "\n") -> None:
        self._writer = csv.writer(file, delimiter=delimiter, lineterminator=line_end)

    def row(self, fields: Iterable[object]) -> None:
        """Write one record; ``None`` becomes an empty field."""
        self._writer.writerow([with_guard(f) if isinstance(f, str) else f for f in fields])

    def rows(self, records: Iterable[Sequence[object]]) -> None:
        """Write records."""
        for record in records:
            self.row(record)
