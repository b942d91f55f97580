"""Rows of reviewed suggestion files, and whether a file is complete.

Every row has its number and the total ("17 of 1204"). Missing rows in the middle were deleted by
the user; a truncated last line is a damaged file.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tagfill.array_files import read_parquet
from tagfill.errors import Problems, TagfillError
from tagfill.files import without_guard
from tagfill.labels.formats._sheet import Record, delimiter
from tagfill.labels.formats._text import csv_records, head, read_text
from tagfill.labels.formats.spreadsheet import open_spreadsheet
from tagfill.recover.files import PLACE

COLUMNS = ("image", "tag", "decision")
_PLACE = re.compile(r"(\d{1,9}) of (\d{1,9})")


@dataclass(frozen=True)
class AnswerRow:
    """One row: its number in the file, its fields by lower-case name, and whether it is short."""

    number: int
    fields: Mapping[str, Any]
    is_short: bool = False


def answer_rows(path: Path, problems: Problems) -> list[AnswerRow]:
    """The rows of a file as ``tagfill recover`` wrote it, or as a spreadsheet saved it.

    Raises:
        TagfillError: it is of no known kind, cannot be read, or breaks off.
    """
    suffix = path.suffix.lower()
    if suffix not in READERS:
        raise TagfillError(
            f"the suffix {path.suffix!r} names no known format",
            file=path,
            remedy=f"use one of {', '.join((*READERS, '.json'))}",
        )
    if not path.stat().st_size:
        raise TagfillError("the file is empty", file=path, remedy="copy it again")
    rows = list(READERS[suffix](path))
    _check_whole(path, rows, problems)
    return rows


def _check_whole(path: Path, rows: Sequence[AnswerRow], problems: Problems) -> None:
    """Refuse a file that breaks off; remark on one that holds only the first rows, or none."""
    if not rows:
        problems.warn("there are no rows below the names of the columns", file=path)
    places: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows:
        match = _place(row)
        if match is not None:
            places[int(match[2])].append(int(match[1]))
    lacking = {total: total - len(set(numbers)) for total, numbers in places.items()}
    if any(lacking.values()) or not places:
        _refuse_broken(path, rows)
    for total, count in lacking.items():
        if count <= 0:
            continue
        here = len(places[total])
        if places[total] == list(range(1, here + 1)):
            problems.warn(
                f"holds the first {here:,} of {total:,} rows; the others are left open",
                file=path,
                remedy="if nobody deleted them, the file was cut off: copy it again",
            )
        else:
            problems.warn(f"{count:,} of {total:,} rows were deleted; left open", file=path)


def _refuse_broken(path: Path, rows: Sequence[AnswerRow]) -> None:
    if not rows or path.suffix.lower() not in (".csv", ".tsv", ".txt") or _ends_a_line(path):
        return
    last, before = rows[-1], _place(rows[-2]) if len(rows) > 1 else None
    place = _place(last)
    other_total = place is not None and before is not None and place[2] != before[2]
    if last.is_short or (PLACE in last.fields and (place is None or other_total)):
        raise _cut_off(path, last.number)


def _cut_off(path: Path, row: int) -> TagfillError:
    return TagfillError(
        "breaks off in its last line: the file was not saved or copied whole",
        file=path,
        row=row,
        remedy="copy it again; if this is all there is, delete that line",
    )


def _place(row: AnswerRow) -> re.Match[str] | None:
    match = _PLACE.fullmatch(str(row.fields.get(PLACE) or "").strip())
    return match if match and 0 < int(match[1]) <= int(match[2]) else None


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4))
        return file.read().rstrip(b"\0").endswith((b"\n", b"\r"))


def _text_table(path: Path) -> Iterator[AnswerRow]:
    yield from _table(path, csv_records(path, delimiter(head(path))))


def _spreadsheet(path: Path) -> Iterator[AnswerRow]:
    sheet = open_spreadsheet(path)
    header: Record = (sheet.header_row or 1, list(sheet.header))
    yield from _table(path, iter([header, *sheet.records()]))


def _table(path: Path, records: Iterator[Record]) -> Iterator[AnswerRow]:
    _, header = next(records, (1, []))
    names = _column_names(path, header)
    for number, fields in records:
        if any(field.strip() for field in fields):
            given = dict(zip(names, map(without_guard, fields), strict=False))
            yield AnswerRow(
                number, {**dict.fromkeys(COLUMNS, ""), **given}, len(fields) < len(names)
            )


def _column_names(path: Path, header: Iterable[str], row: int = 1) -> list[str]:
    """Names in lower case; those that decide must be there once, or one would win in silence."""
    names = [name.strip().lower() for name in header]
    for name in COLUMNS:
        count = names.count(name)
        if count != 1:
            raise TagfillError(
                f"there are {count} {name!r} columns" if count else f"there is no {name!r} column",
                file=path,
                row=row,
                remedy=f"the columns {', '.join(COLUMNS)} are needed, each once, named there",
            )
    return names


def _json_lines(path: Path) -> Iterator[AnswerRow]:
    lines = read_text(path).split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == len(lines):
                raise _cut_off(path, number) from None
            raise TagfillError(f"is not JSON ({error})", file=path, row=number) from None
        if not isinstance(record, dict):
            raise TagfillError("is not a JSON object", file=path, row=number)
        names = _column_names(path, record, number)
        yield AnswerRow(number, dict(zip(names, record.values(), strict=True)))


def _parquet(path: Path) -> Iterator[AnswerRow]:
    content = read_parquet(path)
    content = content.rename_columns(_column_names(path, content.column_names))
    for number, record in enumerate(content.to_pylist(), 1):
        yield AnswerRow(number, record)


READERS: dict[str, Callable[[Path], Iterator[AnswerRow]]] = {
    ".csv": _text_table,
    ".tsv": _text_table,
    ".txt": _text_table,
    ".jsonl": _json_lines,
    ".parquet": _parquet,
    ".xlsx": _spreadsheet,
    ".xls": _spreadsheet,
    ".ods": _spreadsheet,
}
