"""Tables read in blocks: the same entries, rows and problems as record by record."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.labels.reading import written

from tagfill.errors import Problems, TagfillError
from tagfill.labels.formats import _blocks, _entries, formats
from tagfill.labels.formats._entries import read_entries
from tagfill.labels.formats._plan import Plan
from tagfill.labels.formats._sheet import csv_sheet
from tagfill.labels.formats.base import Source
from tagfill.labels.io import load_labels

WORDS = '|0|1|1.0|0.0|x|no|ja| 1|1 |0.99999999|1e-50|01|0x1|+1|TRUE|null|"1"|" 1 "|-1|1.00|✓|;|""'
ODD_WORDS = [
    "cat",
    "not mentioned",
    "jä",
    '"a,b"',
    '"a;b"',
    '"a""b"',
    '"',
    '"\nb"',
    'a"b',
    '1"',
    '"1" ',
    ",",
    '"" ',
]
ENTRIES = st.sampled_from([*WORDS.split("|"), *["1", "0", ""] * 10, *ODD_WORDS])
ODD_IDS = [
    '"{}.jpg"',
    '"a\nb{}.jpg"',
    "'={}.jpg",
    "",
    " ",
    "ö{}.jpg",
    "Total",
    "---",
    "#a",
    "image",
]
IDS = st.sampled_from(["{}.jpg"] * 12 + ODD_IDS)


@given(
    st.lists(st.tuples(IDS, ENTRIES, ENTRIES), min_size=1, max_size=60),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from([1, 60, 1 << 20]),
    st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_blocks_read_like_records(
    rows: list[tuple[str, str, str]], end: str, mark: str, size: int, closed: bool
) -> None:
    """Entries, rows and problems are the same, whatever the blocks."""
    lines = [mark.join(("image", "cat", "dog"))]
    lines += [mark.join((row[0].format(number), *row[1:])) for number, row in enumerate(rows)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.csv"
        path.write_bytes((end.join(lines) + end * closed).encode())
        try:
            sheet = csv_sheet(path)
        except TagfillError:  # a quote is never closed
            return
        assume(sheet.header == ("image", "cat", "dog"))
        plan = Plan("csv_wide", 0, labels=(1, 2))
        careful_source, quick_source = (Source(path, formats()["csv_wide"]) for _ in range(2))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_blocks, "BYTES", size)
            try:
                careful, expected = read_entries(careful_source, sheet, plan, quick=False)
            except TagfillError as error:
                with pytest.raises(TagfillError, match=f"row {error.row}: not readable"):
                    read_entries(quick_source, sheet, plan)
                return
            quick, tallies = read_entries(quick_source, sheet, plan)
    assert list(quick.images) == list(careful.images)
    assert list(quick.rows) == list(careful.rows)
    assert np.array_equal(quick.values, careful.values)
    assert [tally.bad for tally in tallies] == [tally.bad for tally in expected]
    if any(tally.bad for tally in tallies):
        assert tallies == expected
    assert list(quick_source.problems) == list(careful_source.problems)


def test_only_the_block_with_a_fault_is_read_by_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{number}.jpg,1,0" for number in range(200)]
    lines[150] = "150.jpg,z,0"
    lines[170] = "170.jpg,1"
    monkeypatch.setattr(_blocks, "BYTES", 100)
    read: list[int] = []
    monkeypatch.setattr(_entries, "is_filled", lambda fields: not read.append(1))
    path = written(tmp_path, "image,cat,dog\n" + "\n".join(lines) + "\n")
    problems = Problems()
    dataset = load_labels(path, problems=problems)
    assert len(read) < 20
    assert {problem.row for problem in problems if problem.row} == {152, 172}
    assert len(dataset.table) == 200
    assert dataset.table.values[150].tolist() == [-1, 0]
