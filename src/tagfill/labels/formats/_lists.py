"""Tables with tags as text: lists of tags in one entry, or one statement per row.

Open Images' statements have a confidence: 1 is a verified positive, 0 a verified negative; anything
between is a machine's guess and leaves the label unknown. A class-descriptions file in the same
folder gives the names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from tagfill.errors import counted
from tagfill.files import without_guard
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._ids import images_in
from tagfill.labels.formats._names import HIERARCHY_NAMES, SPECIES_NAMES, plain_name
from tagfill.labels.formats._plan import Plan
from tagfill.labels.formats._refusals import refuse_values
from tagfill.labels.formats._rows import EvenRecords, Tally
from tagfill.labels.formats._sheet import Record, Sheet, delimiter
from tagfill.labels.formats._tags import (
    BLANKS,
    denies_all,
    says_nothing,
    separators_in,
)
from tagfill.labels.formats._text import csv_records, head
from tagfill.labels.formats._ticks import REMEDY, code_of, examples_text
from tagfill.labels.formats._wide import left_out_note
from tagfill.labels.formats.base import Source
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN

_UNREAD = "no tags"
_PATH, _PATH_ENDS = "|", re.compile(r"[;,\n\r]")


def read_tag_list(source: Source, sheet: Sheet, plan: Plan) -> Dataset:
    """The data set of a table with the tags of an image in one entry, or in several."""
    splitter = plan.splitter
    reader = _TextReader(source, sheet, plan, free_tags=True)
    builder = reader.builder
    builder.hierarchy = splitter.path
    paths = [column for column in plan.tags if plain_name(sheet.header[column]) in HIERARCHY_NAMES]
    plain = [column for column in plan.tags if column not in paths]
    last = plan.tags[-1] == len(sheet.header) - 1
    records = reader.records(spread=splitter.only or ";" if last else None)
    texts = [(row, fields[column]) for row, fields in records for column in plain]
    refuse_values(source, texts)

    def tags_in(columns: Iterable[int], fields: Sequence[str]) -> list[str]:
        texts = [without_guard(fields[column]) for column in columns]
        return [without_guard(tag) for text in texts for tag in splitter.tags(text)]

    for row, fields in records:
        tags = tags_in(plain, fields)
        image = plan.image_of(fields)
        if not image and not len(builder) and tags:
            builder.declare(tags, row)
            continue
        record = builder.record(image, row)
        reader.state_split(record, row, fields)
        builder.tags(record, dict.fromkeys(t for t in tags if not reader.is_silent(t, row)), row)
        for tag in dict.fromkeys(tags_in(plan.denied, fields)):
            if not reader.is_silent(tag, row):
                builder.negative(record, splitter.last(tag), row)
        for path in (path for column in paths for path in _PATH_ENDS.split(fields[column])):
            builder.paths.add(record, path.split(_PATH), row)
    used = [splitter.only] if splitter.only else separators_in(text for _, text in texts)
    used = [mark for mark in used if mark != splitter.path]
    if used:
        hint = "; --separator sets the only one" if len(used) > 1 else ""
        builder.notes.append(f"tags are separated by {', '.join(map(repr, used))}{hint}")
    builder.notes += splitter.notes
    return reader.dataset()


def read_long(source: Source, sheet: Sheet, plan: Plan) -> Dataset:
    reader = _TextReader(source, sheet, plan, free_tags=plan.value is None)
    builder = reader.builder
    apart = builder.raters and builder.absent == "unknown"
    record_of: dict[str, int] = {}
    bad = Tally()
    for row, fields in reader.records():
        image, name = plan.image_of(fields), without_guard(fields[plan.tags[0]])
        text = "1" if plan.value is None else fields[plan.value].strip()
        states_nothing = plan.value is None or not text
        if not image and not record_of and name.strip() and states_nothing:
            builder.declare([name], row)
            continue
        if reader.is_silent(name, row):
            name = ""
        label = builder.label(name, row) if name.strip() else None
        if image not in record_of or apart:
            record_of[image] = builder.record(image, row)
        reader.state_split(record_of[image], row, fields)
        reader.state_blank(record_of[image], name, fields)
        code = code_of(text)
        if code is None:
            bad.add(row, text)
        elif not name.strip() and text and plan.value is not None:
            source.error(f"value {text!r} without a label", row)
        builder.mark(record_of[image], label, UNKNOWN if code is None else code, row)
    if bad.bad and plan.value is not None:
        name = sheet.header[plan.value].strip()
        several = f"{bad.bad:,} values are" if bad.bad > 1 else "a value is"
        source.error(
            f"{several} not 1, 0 or empty: {examples_text(bad.examples)}",
            bad.examples[0][0],
            remedy=f"{REMEDY}; to take every row as positive: --ignore-columns {name!r}",
        )
    dataset = reader.dataset()
    if plan.value is None:
        _refuse_all_pairs(source, sheet, plan, dataset)
    return dataset


def _refuse_all_pairs(source: Source, sheet: Sheet, plan: Plan, dataset: Dataset) -> None:
    """Refuse rows of all images with all labels: another column says which of them apply.

    Raises:
        TagfillError: every image has every label.
    """
    table = dataset.table
    unread = [repr(sheet.header[n].strip()) for n, why in plan.left_out.items() if why == _UNREAD]
    if unread and min(table.values.shape) > 2 and table.positives == table.values.size:
        raise source.refusal(
            "every image is listed with every label, so a row alone does not say that the image"
            " has it",
            sheet.header_row,
            remedy="write 1 or 0 for each row in a column called 'value';"
            f" not read: {', '.join(unread)}",
        )


_OPEN_IMAGES = ("imageid", "labelname", "confidence")
_VERIFIED = {1.0: POSITIVE, 0.0: NEGATIVE}


def read_open_images(source: Source, sheet: Sheet, plan: Plan) -> Dataset:
    names = [plain_name(name) for name in sheet.header]
    missing = [name for name in _OPEN_IMAGES if names.count(name) != 1]
    if missing:
        needed = f"the header needs {', '.join(_OPEN_IMAGES)}, each once; check {missing[0]}"
        raise source.refusal(needed, sheet.header_row)
    columns = [names.index(name) for name in _OPEN_IMAGES]
    builder = LabelBuilder(source)
    name_of = _descriptions(builder)
    record_of: dict[str, int] = {}
    guesses = 0
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
        unverified = f"{guesses} unverified labels (confidence between 0 and 1)"
        builder.notes.append(f"{unverified} are unknown")
    builder.notes.append("image ids are read as files called ImageID.jpg")
    return builder.dataset()


def _descriptions(builder: LabelBuilder) -> dict[str, str]:
    files = sorted(builder.source.path.parent.glob("*class-descriptions*.csv"))
    if not files:
        return {}
    builder.notes.append(f"class names are from {files[0].name}")
    records = csv_records(files[0], delimiter(head(files[0])))
    pairs = [fields[:2] for _, fields in records if len(fields) > 1]
    name_of = {code: name.strip() for code, name in pairs if code != "LabelName"}
    shared = Counter(name_of.values())
    return {
        code: name if shared[name] == 1 else f"{name} ({code})" for code, name in name_of.items()
    }


class _TextReader:
    def __init__(self, source: Source, sheet: Sheet, plan: Plan, *, free_tags: bool) -> None:
        self.sheet, self.plan = sheet, plan
        self.builder = LabelBuilder(source, free_tags=free_tags)
        self.builder.absent = source.options.absent or "unknown"
        self.builder.raters = plan.rater is not None
        self.builder.notes += [*sheet.notes, *plan.notes, *left_out_note(sheet, plan)]
        self.silent = Tally()

    def records(self, spread: str | None = None) -> list[Record]:
        """Records that name one image each: where an entry lists several, one for each of them."""
        image = self.plan.image
        reader = EvenRecords(self.sheet, image, self.plan.rejects, spread=spread)
        records = [
            (row, [*fields[:image], name, *fields[image + 1 :]])
            for row, fields in reader.even(self.sheet.records())
            for name in images_in(fields[image])
        ]
        reader.report(self.builder.source)
        names = images_of_rows([fields[image] for _, fields in records])
        filled = 0
        for (_, fields), name in zip(records, names, strict=True):
            filled += fields[image] != name
            fields[image] = name
        if filled:
            note = f"{filled:,} rows without image were taken to be about the one above"
            self.builder.notes.append(note)
        return records

    def state_split(self, record: int, row: int, fields: Sequence[str]) -> None:
        if self.plan.split is not None:
            self.builder.split(record, self.plan.split_of(fields[self.plan.split]), row)

    def state_blank(self, record: int, name: str, fields: Sequence[str]) -> None:
        """State that no tag applies where a row says so, in place of one or beside it."""
        species = plain_name(self.sheet.header[self.plan.tags[0]]) in SPECIES_NAMES
        denies = denies_all(name) or (species and name.strip().lower() in BLANKS)
        if denies and self.plan.value is None and self.builder.source.options.classes is None:
            self.builder.without_any(record, name.strip())
        elif not name.strip() and self.plan.blank is not None and self.plan.says_blank(fields):
            column, text = self.sheet.header[self.plan.blank].strip(), fields[self.plan.blank]
            self.builder.without_any(record, f"{column}: {text.strip()}")

    def is_silent(self, tag: str, row: int) -> bool:
        """Whether a tag is a word for no tags, unless a class list has it; they are counted."""
        if not says_nothing(tag) or tag in self.builder.classes:
            return False
        self.silent.add(row, tag)
        return True

    def dataset(self) -> Dataset:
        if self.silent.bad:
            words = ", ".join(sorted(repr(word.strip()) for word in self.silent.words))
            entries = counted(self.silent.bad, "entry says", "entries say")
            note = f"{entries} {words}, read as no tags"
            self.builder.notes.append(note)
        return self.builder.dataset()


def images_of_rows(texts: Sequence[str]) -> list[str]:
    """The image of every row, where a name stands once for the rows below it, as merged entries do.

    That is so if no name is repeated and many rows have none; else a missing name stays missing.

    >>> images_of_rows(["a.jpg", "", "", "b.jpg"]), images_of_rows(["a.jpg", "", "b.jpg"])
    (['a.jpg', 'a.jpg', 'a.jpg', 'b.jpg'], ['a.jpg', '', 'b.jpg'])
    """
    named = [text for text in texts if text.strip()]
    blank = len(texts) - len(named)
    many = blank > 1 and 5 * blank >= len(texts)
    if not named or not many or len(set(named)) < len(named):
        return list(texts)
    images: list[str] = []
    for text in texts:
        images.append(text if text.strip() or not images else images[-1])
    return images
