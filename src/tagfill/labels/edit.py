"""Write changed labels into a copy of the user's file: columns, order and everything else stay.

Only entries whose label changed are rewritten, in the words the file itself uses.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tagfill.errors import TagfillError
from tagfill.files import guarded, without_guard, write_bytes, write_text
from tagfill.labels.beside import write_rejections, write_reviewed
from tagfill.labels.cleanup import canonical_names
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats import ReadOptions, formats
from tagfill.labels.formats._entries import EvenRecords
from tagfill.labels.formats._ids import clean_ids
from tagfill.labels.formats._lists import images_of_rows
from tagfill.labels.formats._plan import LONG, TAG_LIST, WIDE, Plan, plan_columns
from tagfill.labels.formats._sheet import Sheet, csv_sheet, delimiter
from tagfill.labels.formats._splitter import Splitter
from tagfill.labels.formats._tags import SEPARATORS, join_tags, says_nothing, separators_in
from tagfill.labels.formats._text import COLUMNS, TYPED, UTF8, encoding_of, head
from tagfill.labels.formats._ticks import code_of
from tagfill.labels.formats.base import Source
from tagfill.labels.formats.jsonl import edited_lines
from tagfill.labels.formats.label_studio import save_edited_tasks
from tagfill.labels.formats.parquet import save_edited_parquet
from tagfill.labels.formats.spreadsheet import open_spreadsheet
from tagfill.labels.table import NEGATIVE, POSITIVE, LabelTable

TABLES = (WIDE, LONG, TAG_LIST, "spreadsheet")
EDITABLE = (*TABLES, "jsonl", "parquet", "label_studio")
_OPPOSITES = {"1": "0", "1.0": "0.0", "yes": "no", "y": "n", "true": "false", "ja": "nein"}
_OPPOSITES |= {"j": "n", "wahr": "falsch", "✓": "✗", "✔": "✘", "x": "no"}


def editable(dataset: Dataset, out: Path, to: str | None) -> bool:
    """Whether changed labels can be written in the shape of the file they come from."""
    if dataset.format not in EDITABLE or not dataset.source.is_file():
        return False
    if dataset.format == "spreadsheet":
        return to is None and out.suffix.lower() in ("", ".csv")
    same = out.suffix.lower() in ("", dataset.source.suffix.lower())
    return to == dataset.format or (to is None and same)


@dataclass(frozen=True)
class _Edit:
    """The changes by image and class, and how to read the names in the file."""

    changes: dict[str, dict[str, int]]
    table: LabelTable
    name_of: Callable[[str], str]


def save_changes(before: Dataset, after: LabelTable, out: Path, options: ReadOptions) -> None:
    """Write a copy of the file that ``before`` was read from, with the labels that changed.

    Negatives that the file cannot hold go to the rejections beside the copy.

    Raises:
        TagfillError: the file is of a format that cannot be edited.
    """
    if before.format not in EDITABLE or not before.source.is_file():
        raise TagfillError(f"{before.format} cannot be edited in place", file=before.source)
    edit = _Edit(
        _changes(before.table, after), after, canonical_names(before.table.classes, options)
    )
    if before.format == "parquet":
        holds = save_edited_parquet(before.source, out, edit.changes, edit.name_of)
    elif before.format == "label_studio":
        holds = save_edited_tasks(before.source, out, edit.changes)
    elif before.format == "jsonl":
        text, holds = edited_lines(before.source, edit.changes, edit.name_of)
        write_text(out, text)
    else:
        holds = _save_table(before, out, options, edit)
    if not holds:
        write_rejections(after, out)
    write_reviewed(after, out)


def _changes(before: LabelTable, after: LabelTable) -> dict[str, dict[str, int]]:
    changes: dict[str, dict[str, int]] = {}
    for row, column in np.argwhere(before.values != after.values).tolist():
        labels = changes.setdefault(after.images[row], {})
        labels[after.classes[column]] = int(after.values[row, column])
    return changes


def _save_table(before: Dataset, out: Path, options: ReadOptions, edit: _Edit) -> bool:
    source = before.source
    is_csv = before.format != "spreadsheet"
    sheet = csv_sheet(source) if is_csv else open_spreadsheet(source)
    shape = before.format if is_csv else None
    plan = plan_columns(sheet, options, shape)
    records = [fields for _, fields in sheet.records()]
    ids = _ids_of(records, sheet, plan, options.image_root)
    if not edit.changes.keys() <= set(ids):
        ids = _ids_of(records, sheet, plan, before.image_root)
    lost = sorted(edit.changes.keys() - set(ids))
    if lost:
        raise TagfillError(
            f"image {lost[0]!r} has no row of its own",
            file=source,
            remedy="--to csv_wide writes a table of its own",
        )
    editors = {WIDE: _edit_wide, LONG: _edit_long, TAG_LIST: _edit_tags}
    holds = editors[plan.shape](sheet, plan, records, ids, edit)
    _write_rows(out, [*sheet.above, *records], source if is_csv else None)
    return holds


def _ids_of(records: Sequence[list[str]], sheet: Sheet, plan: Plan, root: Path | None) -> list[str]:
    """The image id of every record as it was read; none for sums and repeated headers."""
    rows = EvenRecords(sheet, plan.image)
    numbers = [n for n, fields in enumerate(records) if not rows.passes_over(n, fields)]
    names = ["".join(records[n][plan.image : plan.image + 1]) for n in numbers]
    names = names if plan.shape == WIDE else images_of_rows(names)
    names = [
        plan.image_of([*records[n][: plan.image], name, *records[n][plan.image + 1 :]])
        for n, name in zip(numbers, names, strict=True)
    ]
    source = Source(sheet.path, formats()[WIDE])
    cleaned, _ = clean_ids(names, [None] * len(names), source, root)
    ids = [""] * len(records)
    for number, image in zip(numbers, cleaned, strict=True):
        ids[number] = image
    return ids


def _write_rows(out: Path, rows: Sequence[Sequence[str]], source: Path | None) -> None:
    """Write a CSV with the delimiter, line ends and encoding of the file it comes from."""
    text = "" if source is None else head(source)
    mark, end = delimiter(text) if source else ",", "\r\n" if "\r\n" in text else "\n"
    encoding = (source and encoding_of(source)) or UTF8
    marked = source is not None and source.read_bytes().startswith(b"\xef\xbb\xbf")
    buffer = io.StringIO()
    if text.lower().startswith("sep="):
        buffer.write(text.splitlines()[0] + end)
    if mark in (*TYPED, COLUMNS):
        joint = {":": ": ", COLUMNS: COLUMNS}.get(mark, f" {mark} ")
        buffer.writelines(joint.join(row) + end for row in rows)
    else:
        writer = csv.writer(buffer, delimiter=mark, lineterminator=end)
        writer.writerows(guarded(map(without_guard, row)) for row in rows)
    try:
        content = buffer.getvalue().encode(UTF8 if marked else encoding.removesuffix("-sig"))
    except UnicodeEncodeError:  # a new tag has letters that the old encoding lacks
        content = buffer.getvalue().encode(UTF8)
    write_bytes(out, content)


def _pending(ids: Sequence[str], edit: _Edit) -> Iterator[tuple[int, dict[str, int], bool]]:
    """The records of images that have changes, and whether each is the first of its image."""
    seen: set[str] = set()
    for number, image in enumerate(ids):
        if image in edit.changes:
            yield number, edit.changes[image], image not in seen
            seen.add(image)


def _edit_wide(
    sheet: Sheet, plan: Plan, records: list[list[str]], ids: Sequence[str], edit: _Edit
) -> bool:
    column_of: dict[str, int] = {}
    for column in plan.labels:
        column_of.setdefault(edit.name_of(sheet.header[column].strip()), column)
    words = _words(record[column] for record in records for column in plan.labels)
    for number, labels, first in _pending(ids, edit):
        for name, value in labels.items():
            stated = code_of(records[number][column_of[name]]) in (POSITIVE, NEGATIVE)
            if first or stated:
                records[number][column_of[name]] = words.get(value, "")
    return True


def _words(texts: Iterator[str]) -> dict[int, str]:
    """The most frequent words for positive and negative, or the opposite of the other."""
    times = Counter(text.strip() for text in texts)
    words: dict[int, str] = {}
    for text, _ in times.most_common():
        code = code_of(text)
        if code in (POSITIVE, NEGATIVE):
            words.setdefault(code, text)
    yes = words.setdefault(POSITIVE, "1")
    no = _OPPOSITES.get(yes.lower(), "0")
    words.setdefault(NEGATIVE, no.upper() if yes.isupper() and len(yes) > 1 else no)
    return words


def _edit_long(
    sheet: Sheet, plan: Plan, records: list[list[str]], ids: Sequence[str], edit: _Edit
) -> bool:
    pending = {
        (image, name): v for image, labels in edit.changes.items() for name, v in labels.items()
    }
    words = {POSITIVE: "1", NEGATIVE: "0"}
    raw = dict(zip(reversed(ids), reversed(records), strict=True))
    places = [column for column in (plan.image, plan.folder) if column is not None]
    if plan.value is not None:
        words = _words(record[plan.value] for record in records)
    dropped = []
    for number, image in enumerate(ids):
        value = pending.pop(
            (image, edit.name_of(without_guard(records[number][plan.tags[0]].strip()))), None
        )
        if value is not None and plan.value is not None:
            records[number][plan.value] = words.get(value, "")
        elif value is not None and value != POSITIVE:
            dropped.append(number)
    for number in reversed(dropped):
        records[number][plan.tags[0]] = ""
    for (image, name), value in pending.items():
        if plan.value is not None or value == POSITIVE:
            record = [""] * len(sheet.header)
            record[plan.tags[0]] = name
            for column in places:
                record[column] = raw[image][column]
            if plan.value is not None:
                record[plan.value] = words.get(value, "")
            records.append(record)
    return plan.value is not None


def _edit_tags(
    sheet: Sheet, plan: Plan, records: list[list[str]], ids: Sequence[str], edit: _Edit
) -> bool:
    splitter = plan.splitter
    texts = [record[column] for record in records for column in plan.tags if column < len(record)]
    usual = Counter(mark for text in texts for mark in separators_in([text])).most_common(1)
    is_csv = encoding_of(sheet.path) is not None
    other = "," if is_csv and delimiter(head(sheet.path)) == ";" else ";"
    common = usual[0][0] if usual else other
    for number, labels, first in _pending(ids, edit):
        record = records[number]
        record += [""] * (len(sheet.header) - len(record))
        added = [name for name, value in labels.items() if value == POSITIVE]
        stated = {**dict.fromkeys(plan.tags, POSITIVE), **dict.fromkeys(plan.denied, NEGATIVE)}
        for column, value in stated.items():
            tags = splitter.split(without_guard(record[column]))
            meant = {tag: labels.get(edit.name_of(splitter.last(tag)), value) for tag in tags}
            kept = [tag for tag in tags if meant[tag] == value]
            if len(kept) < len(tags):
                record[column] = _entry(kept, record[column], common, splitter)
        if added and first:
            entry = record[plan.tags[0]]
            record[plan.tags[0]] = _with_tags(added, entry, common, splitter)
    return False


def _with_tags(names: list[str], text: str, common: str, splitter: Splitter) -> str:
    if says_nothing(text):
        text = ""
    if text.strip()[:1] in ("", "[", "#"):
        return _entry([*splitter.split(without_guard(text)), *names], text, common, splitter)
    mark = splitter.mark_in(text, common)
    spaced = f"{mark} " in text or (mark == "," and mark not in text)
    space = " " if spaced and not mark.endswith(" ") else ""
    joint = _joint(mark, space)
    before = text.rstrip() if mark.strip().isalpha() else text.rstrip(f" {mark}")
    return before + joint + join_tags(names, joint)


def _entry(names: list[str], text: str, common: str, splitter: Splitter) -> str:
    if splitter.only is None and text.strip().startswith("["):
        return json.dumps(names, ensure_ascii=False)
    if text.strip().startswith("#") and all(len(name.split()) == 1 for name in names):
        return " ".join(f"#{name}" for name in names)
    mark = splitter.mark_in(text, common)
    return join_tags(names, _joint(mark, " " if f"{mark} " in text else ""))


def _joint(mark: str, space: str) -> str:
    """A mark with the blanks it needs: words and odd marks have them on both sides."""
    if not mark.strip() or mark.strip() in SEPARATORS:
        return mark.strip() + space or " "
    return f" {mark.strip()} "
