"""CSV formats with a fixed set of columns: their records by column name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tagfill.errors import Problems, TagfillError
from tagfill.labels.formats._text import csv_records, id_column


def named_records(
    path: Path, needed: Sequence[str], problems: Problems
) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Line, image id and the other fields of every record below the header.

    Args:
        path: the CSV file.
        needed: names of one column, of which the file must have exactly one; its field comes back
            under the first of them.
        problems: records with too few or too many fields are errors and left out.
    """
    records = csv_records(path)
    line, header = next(records, (0, []))
    if not header:
        raise TagfillError("the file is empty", file=path)
    names = [name.strip().lower() for name in header]
    image = id_column(header)
    if sum(name in needed for name in names) != 1 or names[image] in needed:
        raise TagfillError(
            f"the header needs image ids and one column called {' or '.join(needed)}",
            file=path,
            row=line,
        )
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise TagfillError(f"two columns are called {twice!r}", file=path, row=line)
    names = [needed[0] if name in needed else name for name in names]
    for row, fields in records:
        if len(fields) != len(names):
            problems.error(
                f"{len(fields)} fields where the header has {len(names)}; the row was left out",
                file=path,
                row=row,
                remedy="put quotes around fields with commas in them",
            )
            continue
        yield row, fields[image], dict(zip(names, fields, strict=True))
