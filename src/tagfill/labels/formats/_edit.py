"""Changed labels in a copy of a table: only their entries are rewritten, in the table's words."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tagfill.files import guarded, without_guard, write_bytes
from tagfill.labels.cleanup import find_denials
from tagfill.labels.formats._lists import images_of_rows
from tagfill.labels.formats._plan import LONG, OPEN_IMAGES, TAG_LIST, WIDE, plan_columns
from tagfill.labels.formats._rows import EvenRecords
from tagfill.labels.formats._sheet import Sheet, delimiter
from tagfill.labels.formats._splitter import HASHTAG, Splitter
from tagfill.labels.formats._tags import (
    SEPARATORS,
    join_tags,
    says_nothing,
    separators_in,
    without_call,
)
from tagfill.labels.formats._text import COLUMNS, TYPED, UTF8, encoding_of, head
from tagfill.labels.formats._ticks import code_of
from tagfill.labels.formats._wide import class_names
from tagfill.labels.formats.base import Edit
from tagfill.labels.table import NEGATIVE, POSITIVE

_OPPOSITES = {"1": "0", "1.0": "0.0", "yes": "no", "y": "n", "true": "false", "ja": "nein"}
_OPPOSITES |= {"j": "n", "wahr": "falsch", "✓": "✗", "✔": "✘", "x": "no"}


def edit_table(edit: Edit, out: Path, sheet: Sheet, shape: str | None = None) -> bool:
    """Write a copy of a table as CSV; returns whether it holds negatives.

    Args:
        edit: what to change.
        out: the file to write.
        sheet: the table.
        shape: its shape, if it is a CSV file; delimiter and encoding are then kept.
    """
    table = _TableEdit(edit, sheet, shape)
    editors = {WIDE: table.wide, LONG: table.long, TAG_LIST: table.tag_list}
    holds = editors[table.plan.shape]()
    _write_rows(out, [*sheet.above, *table.records], sheet.path if shape else None)
    return holds


class _TableEdit:
    def __init__(self, edit: Edit, sheet: Sheet, shape: str | None) -> None:
        self.source, self.changes, self.name_of = edit.source, edit.changes, edit.name_of
        self.sheet, self.plan = sheet, plan_columns(sheet, edit.source.options, shape)
        if self.plan.shape == OPEN_IMAGES:
            raise edit.refusal("a table of Open Images cannot be edited")
        self.records = [fields for _, fields in sheet.records()]
        self.ids = self._ids(edit)

    def _ids(self, edit: Edit) -> list[str]:
        """The image id of every record as it was read; none for sums and repeated headers."""
        records, plan = self.records, self.plan
        rows = EvenRecords(self.sheet, plan.image, plan.rejects)
        numbers = [n for n, fields in enumerate(records) if not rows.passes_over(n, fields)]
        names = ["".join(records[n][plan.image : plan.image + 1]) for n in numbers]
        names = names if plan.shape == WIDE else images_of_rows(names)
        names = [
            plan.image_of([*records[n][: plan.image], name, *records[n][plan.image + 1 :]])
            for n, name in zip(numbers, names, strict=True)
        ]
        id_of = dict(zip(numbers, edit.ids_of(names), strict=True))
        return [id_of.get(number, "") for number in range(len(records))]

    def _pending(self) -> Iterator[tuple[list[str], Mapping[str, int], bool]]:
        """The records of images that have changes, and whether each is the first of its image."""
        seen: set[str] = set()
        for record, image in zip(self.records, self.ids, strict=True):
            if image in self.changes:
                record += [""] * (len(self.sheet.header) - len(record))
                yield record, self.changes[image], image not in seen
                seen.add(image)

    def wide(self) -> bool:
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

    def long(self) -> bool:
        plan, (tag, *_) = self.plan, self.plan.tags
        pending = {(i, name): v for i, labels in self.changes.items() for name, v in labels.items()}
        words, found = {POSITIVE: "1", NEGATIVE: "0"}, set[tuple[str, str]]()
        written = dict(zip(reversed(self.ids), reversed(self.records), strict=True))
        places = [column for column in (plan.image, plan.folder) if column is not None]
        if plan.value is not None:
            words = _words(
                record[plan.value] for record in self.records if plan.value < len(record)
            )
        for image, record in zip(self.ids, self.records, strict=True):
            record += [""] * (len(self.sheet.header) - len(record))
            stated = image, self.name_of(without_guard(record[tag].strip()))
            value = pending.get(stated)
            if value is not None:
                found.add(stated)
            if value is not None and plan.value is not None:
                record[plan.value] = words.get(value, "")
            elif value is not None and value != POSITIVE:
                record[tag] = ""
        for (image, name), value in pending.items():
            added = plan.value is not None or value == POSITIVE
            if added and (image, name) not in found:
                record = [""] * len(self.sheet.header)
                record[tag] = name
                for column in places:
                    record[column] = written[image][column]
                if plan.value is not None:
                    record[plan.value] = words.get(value, "")
                self.records.append(record)
        return plan.value is not None

    def tag_list(self) -> bool:
        plan, splitter = self.plan, self.plan.splitter
        texts = [record[c] for record in self.records for c in plan.tags if c < len(record)]
        usual = Counter(mark for text in texts for mark in separators_in([text])).most_common(1)
        other = "," if delimiter(head(self.source.path)) == ";" else ";"
        common = usual[0][0] if usual else other
        columns = {**dict.fromkeys(plan.tags, POSITIVE), **dict.fromkeys(plan.denied, NEGATIVE)}
        denials = find_denials({tag for text in texts for tag in splitter.split(text)})
        denials = denials if len(denials) > 1 and self.source.options.classes is None else {}
        for record, labels, first in self._pending():
            confirmed = [name for name, value in labels.items() if value == POSITIVE]
            for column, value in columns.items():
                listed = without_call(record[column])
                if listed != record[column].strip():
                    record[column] = listed
                tags = splitter.split(without_guard(record[column]))
                meant = {tag: labels.get(self.name_of(splitter.last(tag)), value) for tag in tags}
                refuted = {tag for tag, name in denials.items() if self.name_of(name) in confirmed}
                kept = [tag for tag in tags if meant[tag] == value and tag not in refuted]
                if len(kept) < len(tags):
                    record[column] = _entry(kept, record[column], common, splitter)
            if confirmed and first:
                entry = record[plan.tags[0]]
                record[plan.tags[0]] = _with_tags(confirmed, entry, common, splitter)
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
    if splitter.hashtags or text.strip()[:1] in ("", "[", "{", "(", "#"):
        return _entry([*splitter.split(without_guard(text)), *names], text, common, splitter)
    mark = splitter.mark_in(text, common)
    spaced = f"{mark} " in text or (mark == "," and mark not in text)
    space = " " if spaced and not mark.endswith(" ") else ""
    joint = _joint(mark, space)
    before = text.rstrip() if mark.strip().isalpha() else text.rstrip(f" {mark}")
    return before + joint + join_tags(names, joint)


def _entry(names: list[str], text: str, common: str, splitter: Splitter) -> str:
    if splitter.hashtags:
        return _caption(names, text)
    if splitter.only is None and text.strip().startswith("["):
        return json.dumps(names, ensure_ascii=False)
    if text.strip().startswith("#") and all(len(name.split()) == 1 for name in names):
        return " ".join(f"#{name}" for name in names)
    mark = splitter.mark_in(text, common)
    return join_tags(names, _joint(mark, " " if f"{mark} " in text else ""))


def _caption(names: list[str], text: str) -> str:
    """A text with the given hashtags and no others."""
    kept = HASHTAG.sub(lambda tag: tag[0] if tag[1] in names else "", text).strip()
    added = [f"#{name}" for name in names if name not in HASHTAG.findall(kept)]
    return " ".join([kept, *added]).strip()


def _joint(mark: str, space: str) -> str:
    """A mark with the blanks it needs: words and odd marks have them on both sides."""
    if not mark.strip() or mark.strip() in SEPARATORS:
        return mark.strip() + space or " "
    return f" {mark.strip()} "
