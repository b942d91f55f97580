"""Tables as people have them: names, ticks, separators, headers, spreadsheets, foreign columns."""

from __future__ import annotations

import base64
import io
import zipfile
import zlib
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tagfill.errors import LabelError, Problems, TagfillError
from tagfill.files import guarded, without_guard
from tagfill.labels import Dataset
from tagfill.labels.formats import ReadOptions, _blocks, _entries, formats
from tagfill.labels.formats._entries import read_entries
from tagfill.labels.formats._plan import Plan
from tagfill.labels.formats._sheet import csv_sheet
from tagfill.labels.formats.base import Source
from tagfill.labels.formats.spreadsheet import refuse_bombs
from tagfill.labels.io import load_labels, save_labels


def make(folder: Path, text: str, name: str = "labels.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def content(dataset: Dataset) -> dict[str, dict[str, int]]:
    table = dataset.table
    return {
        image: {n: int(v) for n, v in zip(table.classes, row, strict=True) if v != -1}
        for image, row in zip(table.images, table.values, strict=True)
    }


EXPECTED = {"a.jpg": {"cat": 1, "dog": 1}, "b.jpg": {"dog": 1}, "c.jpg": {}}

TAG_LISTS = {
    "english": "file,keywords\na.jpg,cat;dog\nb.jpg,dog\nc.jpg,\n",
    "photo": "Photo,Subject\na.jpg,cat;dog\nb.jpg,dog\nc.jpg,\n",
    "german": "Dateiname;Schlagwörter\na.jpg;cat,dog\nb.jpg;dog\nc.jpg;\n",
    "german without umlauts": "Bild;Stichworte\na.jpg;cat|dog\nb.jpg;dog\nc.jpg;\n",
    "exiftool": 'SourceFile,Keywords,Subject\n./a.jpg,"cat, dog","cat, dog"\n./b.jpg,dog,\n'
    "./c.jpg,,\n",
    "groups": "SourceFile,XMP:Subject\na.jpg,cat;dog\nb.jpg,dog\nc.jpg,\n",
    "other columns": "File Name,Title,Rating,Keywords,Date\n"
    "a.jpg,My cat,3,cat;dog,2020-01-02\nb.jpg,,5,dog,2021-03-04\nc.jpg,,,,\n",
    "no header": "a.jpg,cat;dog\nb.jpg,dog\nc.jpg,\n",
    "no header, one tag a column": "a.jpg,cat,dog\nb.jpg,dog\nc.jpg\n",
    "numbered columns": "image,tag1,tag2\na.jpg,cat,dog\nb.jpg,dog,\nc.jpg,,\n",
    "unknown names": "Nr;Inhalt\na.jpg;cat,dog\nb.jpg;dog\nc.jpg;\n",
    "tags first": "Inhalt;Nr\ncat,dog;a.jpg\ndog;b.jpg\n;c.jpg\n",
    "tabs": "image\ttags\na.jpg\tcat;dog\nb.jpg\tdog\nc.jpg\t\n",
    "excel hint": "sep=;\nimage;tags\na.jpg;cat,dog\nb.jpg;dog\nc.jpg;\n",
    "title above": "My photos,\n,\nimage,tags\na.jpg,cat;dog\nb.jpg,dog\nc.jpg,\n",
    "row numbers": ",image,tags\n0,a.jpg,cat;dog\n1,b.jpg,dog\n2,c.jpg,\n",
    "pandas lists": "image,tags\na.jpg,\"['cat', 'dog']\"\nb.jpg,['dog']\nc.jpg,[]\n",
    "json lists": 'image,tags\na.jpg,"[""cat"", ""dog""]"\nb.jpg,"[""dog""]"\nc.jpg,[]\n',
    "hashtags": "image,tags\na.jpg,#cat #dog\nb.jpg,dog\nc.jpg,\n",
    "blank rows": "image,tags\n\na.jpg,cat;dog\n,\nb.jpg,dog\nc.jpg,\n,\n",
    "lists under label": "image,label\na.jpg,cat;dog\nb.jpg,dog\nc.jpg,\n",
    "blanks around": " image , tags \n a.jpg , cat ; dog \n b.jpg , dog \n c.jpg , \n",
    "commas without quotes": "image,tags\na.jpg,cat,dog\nb.jpg,dog\nc.jpg,\n",
    "tags twice": "image,tags,tags\na.jpg,cat,dog\nb.jpg,dog,\nc.jpg,,\n",
    "windows paths": "Pfad;Tags\nC:\\My\\a.jpg;cat,dog\nC:\\My\\b.jpg;dog\nC:\\My\\c.jpg;\n",
    "old mac lines": "image,tags\ra.jpg,cat;dog\rb.jpg,dog\rc.jpg,\r",
    "comment above": "# my photos\nimage,tags\na.jpg,cat;dog\nb.jpg,dog\nc.jpg,\n",
    "three separators": 'image,tags\na.jpg,"cat, dog"\nb.jpg,dog|\nc.jpg,;\n',
}


@pytest.mark.parametrize("text", TAG_LISTS.values(), ids=TAG_LISTS)
def test_tag_lists(tmp_path: Path, text: str) -> None:
    dataset = load_labels(make(tmp_path, text))
    assert dataset.format == "tag_list"
    assert content(dataset) == EXPECTED


WIDE = {"a.jpg": {"cat": 1, "dog": 0}, "b.jpg": {"cat": 1}, "c.jpg": {"dog": 1}}
TICKS = [("1", "0"), ("x", "no"), ("X", "nein"), ("yes", "no"), ("TRUE", "FALSE"), ("ja", "0")]
TICKS += [("✓", "✗"), ("1.0", "0.0"), ("wahr", "falsch"), (" Yes ", "N")]


@pytest.mark.parametrize(("yes", "no"), TICKS)
@pytest.mark.parametrize("blank", ["", "?", "n/a", " "])
def test_ticks(tmp_path: Path, yes: str, no: str, blank: str) -> None:
    rows = f"a.jpg,{yes},{no}\nb.jpg,{yes},{blank}\nc.jpg,{blank},{yes}\n"
    dataset = load_labels(make(tmp_path, "image,cat,dog\n" + rows))
    assert dataset.format == "csv_wide"
    assert content(dataset) == WIDE


def test_index_and_label_text_beside_ticks(tmp_path: Path) -> None:
    text = (
        ",file,label,cat,dog,set\n0,a.jpg,cat,1,0,train\n1,b.jpg,cat,1,,val\n2,c.jpg,dog,,1,test\n"
    )
    dataset = load_labels(make(tmp_path, text))
    assert content(dataset) == WIDE
    assert set(dataset.splits) == {"train", "val", "test"}


def test_other_alphabets_are_told_from_accents(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes("файл,метки\na.jpg,кошка;собака\nb.jpg,собака\n".encode("cp1251"))
    assert set(load_labels(path).table.classes) == {"кошка", "собака"}


def test_ratings_dates_and_sizes_are_left_out_with_examples(tmp_path: Path) -> None:
    rows = "".join(
        f"{n}.jpg,{n % 6},2020-01-{n % 28 + 1:02},{n} KB,{n % 2},640x480\n" for n in range(633)
    )
    dataset = load_labels(make(tmp_path, "image,Rating,Date,Size,cat,Format\n" + rows))
    assert dataset.table.classes == ("cat",)
    (note,) = [note for note in dataset.notes if "left out" in note]
    for words in ("'Rating': 421 values such as '2'", "'Date': 633", "'Size'", "'Format'"):
        assert words in note
    assert not [problem for problem in dataset.problems if problem.severity == "error"]


def test_bad_entries_are_one_problem_a_column(tmp_path: Path) -> None:
    rows = "".join(f"{n}.jpg,{'l' if n % 5 == 0 else 1},{n % 2}\n" for n in range(100))
    with pytest.raises(LabelError) as caught:
        load_labels(make(tmp_path, "image,cat,dog\n" + rows))
    (problem,) = caught.value.problems
    assert problem.row == 2
    assert "20 entries in column 'cat' are not 1, 0 or empty" in problem.message
    assert "--ignore-columns 'cat'" in str(problem.remedy)


def test_many_problems_of_one_kind_are_shown_as_one(tmp_path: Path) -> None:
    rows = "".join(f"{n}.jpg,cat,1\n{n}.jpg,cat,0\n" for n in range(50))
    with pytest.raises(LabelError) as caught:
        load_labels(make(tmp_path, "image,label,value\n" + rows))
    assert len(caught.value.problems) == 50
    assert len(str(caught.value).splitlines()) == 1
    assert "(50 such, also in rows 5, 7 ...)" in str(caught.value)


def test_a_code_nobody_knows_is_refused_not_dropped(tmp_path: Path) -> None:
    rows = "".join(f"{n}.jpg,{'P' if n % 2 else 'A'},{'A' if n % 3 else 'P'}\n" for n in range(9))
    with pytest.raises(TagfillError, match="no column holds known label values") as caught:
        load_labels(make(tmp_path, "image,cat,dog\n" + rows), format="csv_wide")
    assert "'cat': 9 values such as 'A' (row 2)" in str(caught.value)


def test_paths_of_tags_in_a_table(tmp_path: Path) -> None:
    path = make(tmp_path, "image,tags\na.jpg,animal|bird;tree\nb.jpg,bird\n")
    dataset = load_labels(path, options=ReadOptions(hierarchy="|"))
    assert content(dataset) == {
        "a.jpg": {"animal": 1, "bird": 1, "tree": 1},
        "b.jpg": {"animal": 1, "bird": 1},
    }
    named = make(tmp_path, 'image,HierarchicalSubject\na.jpg,"animal|bird, tree"\nb.jpg,bird\n')
    assert content(load_labels(named)) == content(dataset)


def test_columns_can_be_named(tmp_path: Path) -> None:
    text = "one;two;three\na.jpg;x/y.png;cat+dog\nb.jpg;z.png;dog\nc.jpg;w.png;\n"
    path = make(tmp_path, text)
    options = ReadOptions(image_column="one", tags_columns=("three",), separator="+")
    assert content(load_labels(path, options=options)) == EXPECTED
    with pytest.raises(TagfillError, match="there is no column 'four'") as caught:
        load_labels(path, options=ReadOptions(tags_columns=("four",)))
    assert "one, two, three" in str(caught.value.remedy)
    wide = make(tmp_path, "image,cat,dog,Stars\na.jpg,1,0,1\nb.jpg,1,,0\nc.jpg,,1,1\n")
    assert content(load_labels(wide, options=ReadOptions(ignore_columns=("stars",)))) == WIDE


def test_a_table_without_header_gets_its_class_names_from_a_list(tmp_path: Path) -> None:
    path = make(tmp_path, "a.jpg,1,0\nb.jpg,1,\nc.jpg,,1\n")
    with pytest.raises(TagfillError, match="2 classes have no name") as caught:
        load_labels(path)
    assert "--classes" in str(caught.value.remedy)
    assert content(load_labels(path, options=ReadOptions(classes=("cat", "dog")))) == WIDE


def test_sentences_are_not_taken_for_tags(tmp_path: Path) -> None:
    rows = "".join(f"{n}.jpg,A man rides horse number {n} along the beach\n" for n in range(30))
    with pytest.raises(TagfillError, match="no column holds known label values"):
        load_labels(make(tmp_path, "image,text\n" + rows))


@pytest.mark.parametrize("location", ["here", "elsewhere"])
def test_absolute_ids_become_relative_to_the_folder_they_share(
    tmp_path: Path, location: str
) -> None:
    photos = tmp_path / ("photos" if location == "elsewhere" else "far")
    (photos / "sub").mkdir(parents=True)
    for name in ("a.jpg", "sub/b.jpg"):
        (photos / name).write_bytes(b"")
    base = "C:\\Users\\me\\Pictures\\" if location == "elsewhere" else f"{photos}/"
    separator = "\\" if location == "elsewhere" else "/"
    rows = "".join(f"{base}{name},cat\n" for name in ("a.jpg", f"sub{separator}b.jpg"))
    dataset = load_labels(make(tmp_path, "SourceFile,Keywords\n" + rows))
    assert dataset.table.images == ("a.jpg", "sub/b.jpg")
    assert dataset.image_root == photos
    assert any("absolute" in problem.message for problem in dataset.problems)


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
    import tempfile

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
    path = make(tmp_path, "image,cat,dog\n" + "\n".join(lines) + "\n")
    problems = Problems()
    dataset = load_labels(path, problems=problems)
    assert len(read) < 20
    assert {problem.row for problem in problems if problem.row} == {152, 172}
    assert len(dataset.table) == 200
    assert dataset.table.values[150].tolist() == [-1, 0]


def test_nearly_one_is_not_one(tmp_path: Path) -> None:
    for text in ("0.99999999", "1e-50"):
        with pytest.raises(LabelError, match="is not 1, 0 or empty"):
            load_labels(make(tmp_path, f"image,cat,dog\na.jpg,1,1\nb.jpg,{text},0\n"))


ROWS: list[list[object]] = [
    ["Dateiname", "cat", "dog", "Datum"],
    ["a.jpg", True, 0, "2020-01-02"],
    ["b.jpg", 1, None, "2021-05-06"],
    ["c.jpg", None, "x", "2022-07-08"],
]
NS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def xlsx(
    rows: list[list[object]], *more: list[list[object]], hidden: frozenset[int] = frozenset()
) -> bytes:
    """A small workbook, written by hand."""

    def entry(value: object) -> str:
        if value is None:
            return "<c/>"
        if isinstance(value, bool):
            return f'<c t="b"><v>{int(value)}</v></c>'
        if isinstance(value, int | float):
            return f"<c><v>{value}</v></c>"
        return f'<c t="inlineStr"><is><t>{escape(str(value))}</t></is></c>'

    bodies = [
        "".join(f"<row>{''.join(map(entry, row))}</row>" for row in sheet)
        for sheet in (rows, *more)
    ]
    names = [f"Tags {number}" if number > 1 else "Tags" for number in range(1, len(bodies) + 1)]
    sheets = "".join(
        f'<sheet name="{name}" sheetId="{number}" r:id="rId{number}"'
        + (' state="hidden"/>' if number in hidden else "/>")
        for number, name in enumerate(names, 1)
    )
    links = "".join(
        f'<Relationship Id="rId{number}" Type="{REL}/worksheet"'
        f' Target="worksheets/sheet{number}.xml"/>'
        for number in range(1, len(bodies) + 1)
    )
    files = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/'
        'content-types"><Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
        f'relationships"><Relationship Id="rId1" Type="{REL}/officeDocument"'
        ' Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{NS}" xmlns:r="{REL}"><sheets>{sheets}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/'
        f'package/2006/relationships">{links}</Relationships>',
    }
    for number, body in enumerate(bodies, 1):
        files[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{NS}"><sheetData>{body}</sheetData></worksheet>'
        )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def ods(rows: list[list[object]]) -> bytes:
    """A small OpenDocument table, written by hand."""

    def entry(value: object) -> str:
        if value is None:
            return "<table:table-cell/>"
        if isinstance(value, bool):
            boolean = str(value).lower()
            return (
                f'<table:table-cell office:value-type="boolean" office:boolean-value="{boolean}"/>'
            )
        if isinstance(value, int | float):
            return f'<table:table-cell office:value-type="float" office:value="{value}"/>'
        text = f"<text:p>{escape(str(value))}</text:p>"
        return f'<table:table-cell office:value-type="string">{text}</table:table-cell>'

    lines = [f"<table:table-row>{''.join(map(entry, row))}</table:table-row>" for row in rows]
    urn = "urn:oasis:names:tc:opendocument:xmlns"
    document = (
        f'<office:document-content xmlns:office="{urn}:office:1.0" xmlns:table="{urn}:table:1.0"'
        f' xmlns:text="{urn}:text:1.0"><office:body><office:spreadsheet>'
        f'<table:table table:name="Tags">{"".join(lines)}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", document)
        archive.writestr("META-INF/manifest.xml", f'<manifest xmlns="{urn}:manifest:1.0"/>')
    return buffer.getvalue()


@pytest.mark.parametrize(("suffix", "write"), [("xlsx", xlsx), ("ods", ods)])
def test_spreadsheets(tmp_path: Path, suffix: str, write: object) -> None:
    path = tmp_path / f"labels.{suffix}"
    path.write_bytes(write(ROWS))  # type: ignore[operator]
    dataset = load_labels(path)
    assert dataset.format == "spreadsheet"
    assert content(dataset) == WIDE
    path.write_bytes(write([["Bild", "Tags"], ["a.jpg", "cat, dog"], ["b.jpg", "dog"], ["c.jpg"]]))  # type: ignore[operator]
    assert content(load_labels(path)) == EXPECTED
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(TagfillError, match="not readable as a spreadsheet"):
        load_labels(path)


XLS = (
    "c-rk)O=uHA6#izD%^zu+)KqAN5(-wWMG!9@Y*$6?$x=m7M9|F-rM4y|_MjfLT5}WxPl}g9FJ7u%{6P<T^B`38AP8"
    "cjM^A!+hc@ebFT0v(4h?8gnQxglZ{NIc=4Iy1WOrXICdzYnyDRt!L-3*Mgb}E-DJo&_CJt(M99F$LM8(ngrw|U&L"
    "IzAcYI`2!HRScKz`z~<Q<A`YD#tK|kwQL~T1D)Z7;MEc43bp1NtPJ8B&rUP8Ify5-WJctB6o`AipW9oEvutgv_|^"
    "3yIFk1=#{n@xZnH2c_Wss=)^P5;tN+*&DX@P;<!EecQ*9+qnHP++i)(QE83G~BxwQX@x@62pS_*>B&F@EYgZuq*G"
    "7A=iT#@42WH@$kOVIwig!M4@#By^c6tdrcx|Q7vAf5f&W-2oQ#o?U*wZAlg)tMbx15~fI_=gOt|?E>M3^VrJKnIp"
    "+a&FyB(rE2Jt4^-rvrTH)~A>I)1%gLvCPPkUOV{LbF6T1kr_mep%y8FgYFl`W|5bq*L9+Ii%e3=Qr$P&=_>nX#pk"
    "lL_R%=o1h1?Ob^1oqOCJwB=qY`$Hj%zCTsfCqcx}z0mu4hOe7<Hepa#^9>x_q%S1b3Bcq_8&mjfeY#NF5(_us7@%"
    "ZP}Y5Lvt9*-_u`40o=Wt(vfvuz5aABP7u=`@F#|^;|>xYUCQi<r!uF+PVZ>e_xZaeBy7qvH7Hb_8&4jaF08qgYX9"
    ";(9qD((9qD((9n<vR>OUS=SNS|eMtzq-*uL$RP|?){}u;Pplh05O!p#BbrEM<%Ad6`mDiVAA;<e($T&=+7cqgf#4"
    "*uw{?bdHs{cJJCdPl?7HW0;YAbR6;qku#N}kTy"
)
"""The rows WIDE as an old Excel workbook, compressed."""


def test_the_sheets_that_list_images_are_read(tmp_path: Path) -> None:
    path = tmp_path / "labels.xlsx"
    info: list[list[object]] = [["Our photos"], ["Contact", "me@example.org"]]
    first: list[list[object]] = [["Image", "Tags"], ["a.jpg", "cat"]]
    second: list[list[object]] = [["Image", "Tags"], ["b.jpg", "dog"]]
    old: list[list[object]] = [["Image", "Keywords"], ["z.jpg", "old"]]
    path.write_bytes(xlsx(old, info, first, second, hidden=frozenset({1})))
    dataset = load_labels(path)
    assert dataset.table.images == ("a.jpg", "b.jpg")
    assert dataset.notes[0].startswith("sheets 'Tags 3', 'Tags 4' have the same columns")
    assert dataset.notes[1] == "sheets that were not read: 'Tags 2', 'Tags'"


def test_old_excel(tmp_path: Path) -> None:
    path = tmp_path / "labels.xls"
    path.write_bytes(zlib.decompress(base64.b85decode(XLS)))
    dataset = load_labels(path)
    assert dataset.format == "spreadsheet"
    assert content(dataset) == WIDE


def test_spreadsheet_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagfill.labels.formats.spreadsheet.MOST_BYTES", 1000)
    path = tmp_path / "labels.xlsx"
    path.write_bytes(xlsx(ROWS * 100))
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
        refuse_bombs(path)
        return
    with pytest.raises(TagfillError, match="cells, too many to read"):
        refuse_bombs(path)


FORMULAS = ["=cmd|' /C calc'!A0", "@SUM(1)", "+1+cmd|x", "-2+3|a", "'=x", "\tx"]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_guarded_and_come_back(text: str) -> None:
    (field,) = guarded([text])
    assert field == f"'{text}"
    assert without_guard(str(field)) == text


@pytest.mark.parametrize("text", ["a.jpg", "-1", "+1", "--x", "it's", "'quoted'", "-foo/bar.jpg"])
def test_plain_texts_are_not_touched(text: str) -> None:
    assert guarded([text]) == [text]
    assert without_guard(text) == text


@given(st.text())
def test_guarding_loses_nothing(text: str) -> None:
    assert [without_guard(str(field)) for field in guarded([text])] == [text]


@pytest.mark.parametrize("name", ["csv_wide", "csv_long", "tag_list"])
def test_no_formula_reaches_a_written_csv(tmp_path: Path, name: str) -> None:
    text = "image,label\n'=cmd|calc!A0,'@tag\nb.jpg,cat\n"
    dataset = load_labels(make(tmp_path, text))
    assert dataset.table.images[0] == "=cmd|calc!A0"
    save_labels(dataset, tmp_path / "out.csv", format=name)
    fields = (tmp_path / "out.csv").read_text().replace("\n", ",").split(",")
    assert not any(field.startswith(("=", "@")) for field in fields)
    again = load_labels(tmp_path / "out.csv")
    assert again.table.images == dataset.table.images
    assert again.table.classes == dataset.table.classes


def test_a_folder_of_images_with_one_table_is_read_by_the_table(tmp_path: Path) -> None:
    from PIL import Image

    (tmp_path / "images").mkdir()
    for name in "abc":
        Image.new("RGB", (4, 4)).save(tmp_path / "images" / f"{name}.png")
    with pytest.raises(TagfillError, match="in no class folders"):
        load_labels(tmp_path)
    text = "image,tags\na.png,cat\nb.png,dog\nc.png,\n"
    (tmp_path / "labels.csv").write_text(text)
    (tmp_path / "prices.csv").write_text("item,price\nbread,1\n")
    dataset = load_labels(tmp_path)
    assert dataset.table.classes == ("cat", "dog")
    assert dataset.source == tmp_path / "labels.csv"
    assert any("labels.csv was read" in note for note in dataset.notes)
    assert load_labels(tmp_path, format="image_folder").table.classes == ("images",)
    (tmp_path / "test.csv").write_text(text)
    with pytest.raises(TagfillError, match=r"labels\.csv, test\.csv"):
        load_labels(tmp_path)
