"""Small workbooks, written by hand."""

from __future__ import annotations

import io
import zipfile
from xml.sax.saxutils import escape

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
