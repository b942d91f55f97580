"""Write changed labels into a copy of the user's file: columns, order and everything else stay.

Only entries whose label changed are rewritten, in the words the file itself uses.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
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
from tagfill.labels.formats._plan import LONG, TAG_LIST, WIDE, plan_columns
from tagfill.labels.formats._sheet import csv_sheet, delimiter
from tagfill.labels.formats._splitter import Splitter
from tagfill.labels.formats._tags import SEPARATORS, join_tags, says_nothing, separators_in
from tagfill.labels.formats._text import COLUMNS, TYPED, UTF8, encoding_of, head
from tagfill.labels.formats._ticks import code_of
from tagfill.labels.formats._wide import class_names
from tagfill.labels.formats.base import Source
from tagfill.labels.formats.jsonl import edited_lines
from tagfill.labels.formats.label_studio import save_edited_tasks
from tagfill.labels.formats.parquet import save_edited_parquet
from tagfill.labels.formats.spreadsheet import open_spreadsheet
from tagfill.labels.table import NEGATIVE, POSITIVE, LabelTable

TABLES = (WIDE, LONG, TAG_LIST, "spreadsheet")
EDITABLE = (*TABLES, "jsonl", "parquet", "label_studio")
Changes = dict[str, dict[str, int]]
"""New labels by image and class."""
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


def save_changes(before: Dataset, after: LabelTable, out: Path, options: ReadOptions) -> None:
    """Write a copy of the file that ``before`` was read from, with the labels that changed.

    Negatives that the file cannot hold go to the rejections beside the copy.

    Raises:
        TagfillError: the file is of a format that cannot be edited.
    """
    if before.format not in EDITABLE or not before.source.is_file():
        raise TagfillError(f"{before.format} cannot be edited in place", file=before.source)
    changes: Changes = {}
    for row, column in np.argwhere(before.table.values != after.values).tolist():
        labels = changes.setdefault(after.images[row], {})
        labels[after.classes[column]] = int(after.values[row, column])
    name_of = canonical_names(before.table.classes, options)
    source = Source(before.source, formats()[before.format], options)

    def ids_of(names: Sequence[str]) -> list[str]:
        """The image ids that names in the file were read as."""
        for root in (options.image_root, before.image_root):
            ids, _ = clean_ids(names, [None] * len(names), source, root)
            if changes.keys() <= set(ids):
                return ids
        lost = min(changes.keys() - set(ids))
        remedy = "--to csv_wide writes a table of its own"
        raise source.refusal(f"image {lost!r} has no row of its own", remedy=remedy)

    if before.format == "parquet":
        holds = save_edited_parquet(source, out, changes, ids_of, name_of)
    elif before.format == "label_studio":
        holds = save_edited_tasks(before.source, out, changes, ids_of)
    elif before.format == "jsonl":
        text, holds = edited_lines(before.source, changes, ids_of, name_of)
        write_text(out, text)
    else:
        holds = _TableEdit(source, changes, ids_of, name_of).save(out)
    if not holds or options.zeros == "unknown":
        write_rejections(after, out)
    write_reviewed(after, out)


class _TableEdit:
    """Changes of a table, by image and class."""

    def __init__(
        self,
        source: Source,
        changes: Changes,
        ids_of: Callable[[Sequence[str]], list[str]],
        name_of: Callable[[str], str],
    ) -> None:
        self.source, self.changes, self.name_of = source, changes, name_of
        form = source.format.name
        self.is_csv = form != "spreadsheet"
        self.sheet = csv_sheet(source.path) if self.is_csv else open_spreadsheet(source.path)
        self.plan = plan_columns(self.sheet, source.options, form if self.is_csv else None)
        self.records = [fields for _, fields in self.sheet.records()]
        self.ids = self._ids(ids_of)

    def _ids(self, ids_of: Callable[[Sequence[str]], list[str]]) -> list[str]:
        """The image id of every record as it was read; none for sums and repeated headers."""
        records, plan = self.records, self.plan
        rows = EvenRecords(self.sheet, plan.image)
        numbers = [n for n, fields in enumerate(records) if not rows.passes_over(n, fields)]
        names = ["".join(records[n][plan.image : plan.image + 1]) for n in numbers]
        names = names if plan.shape == WIDE else images_of_rows(names)
        names = [
            plan.image_of([*records[n][: plan.image], name, *records[n][plan.image + 1 :]])
            for n, name in zip(numbers, names, strict=True)
        ]
        id_of = dict(zip(numbers, ids_of(names), strict=True))
        return [id_of.get(number, "") for number in range(len(records))]

    def save(self, out: Path) -> bool:
        """Write the changed table; returns whether it holds negatives."""
        editors = {WIDE: self._edit_wide, LONG: self._edit_long, TAG_LIST: self._edit_tags}
        holds = editors[self.plan.shape]()
        rows = [*self.sheet.above, *self.records]
        _write_rows(out, rows, self.source.path if self.is_csv else None)
        return holds

    def _pending(self) -> Iterator[tuple[list[str], dict[str, int], bool]]:
        """The records of images that have changes, and whether each is the first of its image."""
        seen: set[str] = set()
        for record, image in zip(self.records, self.ids, strict=True):
            if image in self.changes:
                record += [""] * (len(self.sheet.header) - len(record))
                yield record, self.changes[image], image not in seen
                seen.add(image)

    def _edit_wide(self) -> bool:
        names = class_names(self.source, self.sheet, self.plan)
        column_of: dict[str, int] = {}
        for name, column in zip(names, self.plan.labels, strict=True):
            column_of.setdefault(self.name_of(name), column)
        if self.plan.split is not None:  # it is a class where it holds labels
            name = self.sheet.header[self.plan.split].strip()
            column_of.setdefault(self.name_of(name), self.plan.split)
        width = len(self.sheet.header)
        for name in dict.fromkeys(name for labels in self.changes.values() for name in labels):
            if name not in column_of:  # of the user's list, and without a column so far
                column_of[name], width = width, width + 1
                self.sheet.above[-1].append(name)
        for record in self.records if width > len(self.sheet.header) else ():
            record += [""] * (width - len(record))
        words = _words(
            record[c] for record in self.records for c in self.plan.labels if c < len(record)
        )
        for record, labels, first in self._pending():
            for name, value in labels.items():
                stated = code_of(record[column_of[name]]) in (POSITIVE, NEGATIVE)
                if first or stated:
                    record[column_of[name]] = words.get(value, "")
        return True

    def _edit_long(self) -> bool:
        plan, (tag, *_) = self.plan, self.plan.tags
        pending = {(i, name): v for i, labels in self.changes.items() for name, v in labels.items()}
        words = {POSITIVE: "1", NEGATIVE: "0"}
        written = dict(zip(reversed(self.ids), reversed(self.records), strict=True))
        places = [column for column in (plan.image, plan.folder) if column is not None]
        if plan.value is not None:
            words = _words(
                record[plan.value] for record in self.records if plan.value < len(record)
            )
        for image, record in zip(self.ids, self.records, strict=True):
            record += [""] * (len(self.sheet.header) - len(record))
            value = pending.pop((image, self.name_of(without_guard(record[tag].strip()))), None)
            if value is not None and plan.value is not None:
                record[plan.value] = words.get(value, "")
            elif value is not None and value != POSITIVE:
                record[tag] = ""
        for (image, name), value in pending.items():
            if plan.value is not None or value == POSITIVE:
                record = [""] * len(self.sheet.header)
                record[tag] = name
                for column in places:
                    record[column] = written[image][column]
                if plan.value is not None:
                    record[plan.value] = words.get(value, "")
                self.records.append(record)
        return plan.value is not None

    def _edit_tags(self) -> bool:
        plan, splitter = self.plan, self.plan.splitter
        texts = [record[c] for record in self.records for c in plan.tags if c < len(record)]
        usual = Counter(mark for text in texts for mark in separators_in([text])).most_common(1)
        other = "," if self.is_csv and delimiter(head(self.source.path)) == ";" else ";"
        common = usual[0][0] if usual else other
        columns = {**dict.fromkeys(plan.tags, POSITIVE), **dict.fromkeys(plan.denied, NEGATIVE)}
        for record, labels, first in self._pending():
            for column, value in columns.items():
                tags = splitter.split(without_guard(record[column]))
                meant = {tag: labels.get(self.name_of(splitter.last(tag)), value) for tag in tags}
                kept = [tag for tag in tags if meant[tag] == value]
                if len(kept) < len(tags):
                    record[column] = _entry(kept, record[column], common, splitter)
            added = [name for name, value in labels.items() if value == POSITIVE]
            if added and first:
                entry = record[plan.tags[0]]
                record[plan.tags[0]] = _with_tags(added, entry, common, splitter)
        return False


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
