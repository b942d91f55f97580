"""Spreadsheets and tables made to hurt: refused in one sentence, in little time and memory."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.labels.workbooks import xlsx
from tests.processes import Command

from tagfill.errors import Problems, TagfillError
from tagfill.labels import LabelTable
from tagfill.labels.formats import _sheet, spreadsheet
from tagfill.labels.io import load_labels
from tagfill.labels.stats import Statistics

SHEET = "xl/worksheets/sheet1.xml"
TABLE = [["image", "cat", "dog"], ["a.jpg", 1, 0], ["b.jpg", 0, 1]]
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def with_part(path: Path, name: str, text: str | bytes) -> Path:
    """A workbook in which one part is another."""
    with (
        zipfile.ZipFile(io.BytesIO(xlsx(TABLE))) as source,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for entry in source.namelist():
            if entry != name:
                target.writestr(entry, source.read(entry))
        target.writestr(name, text)
    return path


def workbook(path: Path, rows: str) -> Path:
    text = f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
    return with_part(path, SHEET, text)


def document(path: Path, rows: str, manifest: str = "", doctype: str = "") -> Path:
    spaces = "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )
    body = f'<office:body><office:spreadsheet><table:table table:name="a">{rows}</table:table>'
    end = "</office:spreadsheet></office:body></office:document-content>"
    mark = 'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr(
            "META-INF/manifest.xml", f"<manifest:manifest {mark}>{manifest}</manifest:manifest>"
        )
        archive.writestr("content.xml", f"{doctype}<office:document-content{spaces}>{body}{end}")
    return path


def cells(*texts: str) -> str:
    inner = "".join(
        f'<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>'
        for text in texts
    )
    return f"<table:table-row>{inner}</table:table-row>"


TOP = cells("image", "cat")
LOCKED = (
    '<manifest:file-entry manifest:full-path="content.xml">'
    "<manifest:encryption-data/></manifest:file-entry>"
)
ENTITY = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
CELL = '<c r="{}"><v>1</v></c>'.format

STRANGE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "a cell no program could write": (
        lambda folder: workbook(folder / "x.xlsx", f"<row>{CELL('ZZZZZZ99999999999999')}</row>"),
        "cells, too many to read",
    ),
    "a row far below": (
        lambda folder: workbook(folder / "x.xlsx", f'<row r="99999999999">{CELL("")}</row>'),
        "cells, too many to read",
    ),
    "a wide row and many rows, without places": (
        lambda folder: workbook(
            folder / "x.xlsx", f"<row>{'<c/>' * 5_000}</row>{'<row><c/></row>' * 5_000}"
        ),
        "cells, too many to read",
    ),
    "blanks by the billion": (
        lambda folder: document(
            folder / "x.ods", TOP + cells('<text:s text:c="2000000000"/>a.jpg', "1")
        ),
        "2,000,000,000 blanks",
    ),
    "blanks with many digits": (
        lambda folder: document(
            folder / "x.ods", TOP + cells(f'<text:s text:c="{"9" * 5_000}"/>a.jpg', "1")
        ),
        "blanks",
    ),
    "a file of this machine": (
        lambda folder: document(folder / "x.ods", TOP + cells("&a;", "1"), doctype=ENTITY),
        "not readable as a spreadsheet",
    ),
    "a password": (
        lambda folder: document(folder / "x.ods", TOP + cells("a.jpg", "1"), LOCKED),
        "password",
    ),
    "a password of the zip": (lambda folder: encrypted(folder / "x.xlsx"), "it is encrypted"),
    "no sheet": (
        lambda folder: with_part(folder / "x.xlsx", SHEET, b""),
        "not readable as a spreadsheet",
    ),
    "a workbook in a zip": (
        lambda folder: packed(folder / "x.xlsx"),
        "is a zip archive",
    ),
}


def encrypted(path: Path) -> Path:
    content = bytearray(xlsx(TABLE))
    for mark, place in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        start = content.find(mark)
        while start >= 0:
            content[start + place] |= 1
            start = content.find(mark, start + 4)
    path.write_bytes(content)
    return path


def packed(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("inner.xlsx", xlsx(TABLE))
    return path


def little_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))  # with what torch has mapped


@pytest.mark.parametrize("name", STRANGE)
def test_strange_spreadsheets_are_refused(name: str, tmp_path: Path) -> None:
    """In a process of its own: the reader ends the process where it cannot have memory."""
    make, told = STRANGE[name]
    process = Command("inspect", make(tmp_path), before=little_memory)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2, errors
    assert told in errors
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("xl/vbaProject.bin", b"\xd0\xcf\x11\xe0" * 99),
        ("xl/externalLinks/externalLink1.xml", b'<externalLink xmlns="x"/>'),
        ("../../evil.txt", b"x"),
    ],
    ids=["macro", "link to another workbook", "a path that leads out"],
)
def test_what_else_a_workbook_holds_is_not_touched(name: str, part: bytes, tmp_path: Path) -> None:
    (tmp_path / "in" / "side").mkdir(parents=True)
    path = with_part(tmp_path / "in" / "side" / "x.xlsx", name, part)
    assert load_labels(path).table.values.tolist() == [[1, 0], [0, 1]]
    assert not (tmp_path / "evil.txt").exists()


def test_formulas_are_not_computed(tmp_path: Path) -> None:
    """The value that the program kept is read; a cell without one is empty."""
    row = '<row><c t="inlineStr"><is><t>{}</t></is></c>{}</row>'.format
    head = row("image", '<c t="inlineStr"><is><t>cat</t></is></c>')
    kept = row("a.jpg", "<c><f>WEBSERVICE(&quot;http://127.0.0.1:1/x&quot;)</f><v>1</v></c>")
    bare = row("b.jpg", "<c><f>1+1</f></c>")
    path = workbook(tmp_path / "x.xlsx", head + kept + bare)
    assert load_labels(path).table.values.tolist() == [[1], [-1]]


def test_more_columns_than_any_table_has_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_sheet, "MOST_COLUMNS", 50)
    names = [f"tag{number}" for number in range(60)]
    table = tmp_path / "x.csv"
    table.write_text(f"image,{','.join(names)}\na.jpg,{',1' * 59}\n")
    book = tmp_path / "x.xlsx"
    book.write_bytes(xlsx([["image", *names], ["a.jpg", *([1] * 60)]]))
    for path in (table, book):
        with pytest.raises(TagfillError, match="61 columns, more than 50"):
            load_labels(path, problems=Problems())


def test_counting_stops_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreadsheet, "MOST_CELLS", 1_000)
    monkeypatch.setattr(spreadsheet, "_PIECE", 1_000)
    path = workbook(tmp_path / "x.xlsx", f"<row>{'<c/>' * 100}</row>" * 1_000)
    with pytest.raises(TagfillError, match=r"has 1,\d00 cells"):
        spreadsheet.refuse_bombs(path)


def test_pairs_of_many_classes_need_little_memory() -> None:
    """A matrix of all pairs would have 60,000 times 60,000 numbers."""
    values = np.full((3, 60_000), -1, dtype=np.int8)
    values[:, [5, 7]] = 1
    values[0, 9] = 1
    table = LabelTable(
        tuple(f"{n}.jpg" for n in range(3)), tuple(f"t{n}" for n in range(60_000)), values
    )
    assert Statistics.of(table).top_pairs(2) == [("t5", "t7", 3), ("t5", "t9", 1)]


def test_spreadsheet_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreadsheet, "MOST_BYTES", 1000)
    path = tmp_path / "labels.xlsx"
    path.write_bytes(xlsx(TABLE * 100))
    with pytest.raises(TagfillError, match="too many to read"):
        load_labels(path)


FAR = b"<row r=\"1048576\"><c r=\"A1048576\"><v>1</v></c></row><row r='7'><c r='XFD7'/></row>"
REPEATED = b"""<table:table><table:table-row table:number-rows-repeated="900000">
<table:table-cell table:number-columns-repeated="90"><text:p>x</text:p></table:table-cell>
</table:table-row></table:table>"""
EMPTY = b"""<table:table><table:table-row><table:table-cell>x</table:table-cell></table:table-row>
<table:table-row table:number-rows-repeated="1048575">
<table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>"""


@pytest.mark.parametrize(
    ("name", "sheet", "refused"),
    [
        ("xl/worksheets/sheet1.xml", FAR, True),
        ("xl/worksheets/any", bytes(9) + b"<a>" * 400_000 + FAR, True),
        ("content.xml", REPEATED, True),
        ("content.xml", EMPTY, False),
    ],
)
def test_a_few_bytes_cannot_ask_for_billions_of_cells(
    name: str, sheet: bytes, refused: bool, tmp_path: Path
) -> None:
    path = tmp_path / "labels.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, sheet)
    if not refused:
        spreadsheet.refuse_bombs(path)
        return
    with pytest.raises(TagfillError, match="cells, too many to read"):
        spreadsheet.refuse_bombs(path)
