"""Tables read by our readers and by a few plain lines of their own: the same labels."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.labels.reading import known

from tagfill.labels.io import load_labels

YES, NO, OPEN = ["1", "x", "yes", "TRUE", "ja", "✓"], ["0", "no", "FALSE", "nein"], ["", "?", "NA"]
TAGS = ["cat", "dog", "polar bear", "Löwe", "eel"]

Known = dict[str, dict[str, int]]


def read(text: str, name: str, encoding: str) -> Known:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(text.encode(encoding))
        return known(load_labels(path))


def table_text(rows: list[list[str]], mark: str, end: str) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=mark, lineterminator=end).writerows(rows)
    return buffer.getvalue()


marks, ends = st.sampled_from(",;\t"), st.sampled_from(["\n", "\r\n"])
encodings = st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])
headers = st.sampled_from(["image", "File Name", "Dateiname", "SourceFile", "photo"])


@given(
    st.lists(st.tuples(*[st.sampled_from(YES + NO + OPEN)] * 3), min_size=1, max_size=9),
    headers,
    marks,
    ends,
    encodings,
)
@settings(max_examples=150, deadline=None)
def test_wide(rows: list[tuple[str, ...]], header: str, mark: str, end: str, encoding: str) -> None:
    names = ["cat", "dog", "Löwe"]
    lines = [[header, *names], *([f"{n}.jpg", *row] for n, row in enumerate(rows))]
    if encoding == "utf-16" and mark == "\t":
        encoding = "utf-8"
    expected: Known = {}
    for record in csv.DictReader(io.StringIO(table_text(lines, mark, "\n")), delimiter=mark):
        labels = expected.setdefault(record[header], {})
        for name in names:
            if record[name] in YES:
                labels[name] = 1
            elif record[name] in NO:
                labels[name] = 0
    assert read(table_text(lines, mark, end), "labels.csv", encoding) == expected


@given(
    st.lists(st.lists(st.sampled_from(TAGS), max_size=4), min_size=2, max_size=9),
    headers,
    st.sampled_from(["tags", "Keywords", "Schlagwörter", "XMP:Subject"]),
    marks,
    st.sampled_from(["; ", ";", "|", ", ", ","]),
    encodings,
)
@settings(max_examples=150, deadline=None)
def test_tag_lists(
    rows: list[list[str]], header: str, tags: str, mark: str, separator: str, encoding: str
) -> None:
    if not any(rows):
        return
    lines = [[header, tags], *([f"{n}.jpg", separator.join(row)] for n, row in enumerate(rows))]
    expected: Known = {
        f"{number}.jpg": dict.fromkeys((tag for tag in row), 1) for number, row in enumerate(rows)
    }
    assert read(table_text(lines, mark, "\n"), "labels.csv", encoding) == expected


@given(st.lists(st.dictionaries(st.sampled_from(TAGS), st.sampled_from([1, 0, None])), min_size=2))
@settings(max_examples=100, deadline=None)
def test_json_lines(rows: list[dict[str, int | None]]) -> None:
    if not any(rows):
        return
    lines = [{"file_name": f"{n}.jpg", "labels": row} for n, row in enumerate(rows)]
    expected: Known = {
        f"{n}.jpg": {name: value for name, value in row.items() if value is not None}
        for n, row in enumerate(rows)
    }
    text = "".join(json.dumps(line) + "\n" for line in lines)
    assert read(text, "labels.jsonl", "utf-8") == expected
