"""Open Images image-level labels: ``ImageID,Source,LabelName,Confidence``.

Confidence 1 is a verified positive, 0 a verified negative; anything between is a machine's guess
and leaves the label unknown. A class-descriptions file in the same folder gives the names.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._entries import EvenRecords
from tagfill.labels.formats._names import plain_name
from tagfill.labels.formats._plan import OPEN_IMAGES
from tagfill.labels.formats._sheet import Sheet, csv_sheet, delimiter
from tagfill.labels.formats._text import csv_records, head
from tagfill.labels.formats.base import Format, Source
from tagfill.labels.formats.csv_tables import has_shape
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN

_NEEDED = ("imageid", "labelname", "confidence")
_VERIFIED = {1.0: POSITIVE, 0.0: NEGATIVE}


def _read(source: Source) -> Dataset:
    builder = LabelBuilder(source)
    name_of = _descriptions(builder)
    record_of: dict[str, int] = {}
    guesses = 0
    sheet = csv_sheet(source.path)
    columns = _columns(source, sheet)
    records = EvenRecords(sheet, columns[0])
    for row, fields in records.even(sheet.records()):
        image, code, confidence = (fields[column].strip() for column in columns)
        if image not in record_of:
            record_of[image] = builder.record(f"{image}.jpg" if image else "", row)
        label = builder.label(name_of.get(code, code), row)
        try:
            value = _VERIFIED.get(float(confidence), UNKNOWN)
        except ValueError:
            source.error(f"confidence {confidence!r} is not a number", row)
            continue
        guesses += value == UNKNOWN
        builder.mark(record_of[image], label, value, row)
    records.report(source)
    if guesses:
        builder.notes.append(
            f"{guesses} unverified labels (confidence between 0 and 1) are unknown"
        )
    builder.notes.append("image ids are read as files called ImageID.jpg")
    return builder.dataset()


def _columns(source: Source, sheet: Sheet) -> tuple[int, ...]:
    names = [plain_name(name) for name in sheet.header]
    missing = [name for name in _NEEDED if names.count(name) != 1]
    if missing:
        needed = f"the header needs {', '.join(_NEEDED)}, each once; check {missing[0]}"
        raise source.refusal(needed, sheet.header_row)
    return tuple(names.index(name) for name in _NEEDED)


def _descriptions(builder: LabelBuilder) -> dict[str, str]:
    files = sorted(builder.source.path.parent.glob("*class-descriptions*.csv"))
    if not files:
        return {}
    builder.notes.append(f"class names are from {files[0].name}")
    pairs = [
        fields[:2]
        for _, fields in csv_records(files[0], delimiter(head(files[0])))
        if len(fields) > 1
    ]
    name_of = {code: name.strip() for code, name in pairs if code != "LabelName"}
    shared = Counter(name_of.values())
    return {
        code: name if shared[name] == 1 else f"{name} ({code})" for code, name in name_of.items()
    }


FORMAT = Format(
    OPEN_IMAGES,
    "Open Images image-level labels csv",
    partial(has_shape, shape=OPEN_IMAGES),
    _read,
)
