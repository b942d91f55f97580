"""Workbooks of Excel and OpenDocument, and web pages saved as such."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path

import pytest
from tests.labels.reading import LISTED, TICKED, known
from tests.labels.workbooks import ods, xlsx

from tagfill.errors import TagfillError
from tagfill.labels.io import load_labels

ROWS: list[list[object]] = [
    ["Dateiname", "cat", "dog", "Datum"],
    ["a.jpg", True, 0, "2020-01-02"],
    ["b.jpg", 1, None, "2021-05-06"],
    ["c.jpg", None, "x", "2022-07-08"],
]


@pytest.mark.parametrize(("suffix", "write"), [("xlsx", xlsx), ("ods", ods)])
def test_spreadsheets(tmp_path: Path, suffix: str, write: object) -> None:
    path = tmp_path / f"labels.{suffix}"
    path.write_bytes(write(ROWS))  # type: ignore[operator]
    dataset = load_labels(path)
    assert dataset.format == "spreadsheet"
    assert known(dataset) == TICKED
    path.write_bytes(write([["Bild", "Tags"], ["a.jpg", "cat, dog"], ["b.jpg", "dog"], ["c.jpg"]]))  # type: ignore[operator]
    assert known(load_labels(path)) == LISTED
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(TagfillError, match="not readable as a spreadsheet"):
        load_labels(path)


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
"""The rows TICKED as an old Excel workbook, compressed."""


def test_old_excel(tmp_path: Path) -> None:
    path = tmp_path / "labels.xls"
    path.write_bytes(zlib.decompress(base64.b85decode(XLS)))
    dataset = load_labels(path)
    assert dataset.format == "spreadsheet"
    assert known(dataset) == TICKED


def test_tables_of_web_pages(tmp_path: Path) -> None:
    rows = "".join(f"<tr><td>{n}.jpg<td>cat<br>polar&nbsp;bear</tr>" for n in range(3))
    head = "<tr><th>Photo</th><th>Tags</th></tr>"
    page = f"<html><table><tr><td>menu</table><table border=1>{head}{rows}</table></html>"
    (tmp_path / "photos.xls").write_text(page)
    dataset = load_labels(tmp_path / "photos.xls")
    assert known(dataset)["2.jpg"] == {"cat": 1, "polar bear": 1}
    (tmp_path / "page.html").write_text("<html><p>no table</p></html>")
    with pytest.raises(TagfillError, match="is a web page"):
        load_labels(tmp_path / "page.html")
