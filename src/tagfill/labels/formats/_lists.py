"""Tables with tags as text: lists of tags in one entry, or one statement per row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tagfill.errors import Problems, TagfillError
from tagfill.files import without_guard
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._entries import Tally, even_records
from tagfill.labels.formats._ids import images_in
from tagfill.labels.formats._names import HIERARCHY_NAMES, plain_name
from tagfill.labels.formats._plan import Plan
from tagfill.labels.formats._sheet import Record, Sheet
from tagfill.labels.formats._splitter import Splitter
from tagfill.labels.formats._tags import is_unreadable, says_nothing, separators_in, split_tags
from tagfill.labels.formats._ticks import REMEDY, code_of, quoted, some
from tagfill.labels.formats._wide import left_out_note
from tagfill.labels.formats.base import ReadOptions
from tagfill.labels.table import NEGATIVE, UNKNOWN

_PATH, _PATH_ENDS = "|", re.compile(r"[;,\n\r]")
_NAME = r"(?:.*[^\W\d_].*?|\d+)"
_VALUED = re.compile(
    rf"{_NAME}[:=]\s*(?:[01](?:[.,]\d+)?|[.,]\d+)"
    rf"|{_NAME}(?:[:=(]|\s)\s*(?:[01]?[.,]\d+|\d{{1,3}}(?:[.,]\d+)?\s?%)\s*\)?"
    r"|\(.*:\s*\d(?:[.,]\d+)?\)"
)
"""A tag with how sure somebody is of it: ``dog: 0.9``, ``dog (90 %)``, ``(dog:1.2)``."""
_MULTI_HOT = re.compile(r"[\[(]?\s*[01](?:[,\s]+[01])+\s*[\])]?")


def read_tag_list(
    sheet: Sheet, plan: Plan, format: str, options: ReadOptions, problems: Problems
) -> Dataset:
    """The data set of a table with the tags of an image in one entry, or in several."""
    splitter = plan.splitter
    options = replace(options, hierarchy=splitter.path)
    builder = LabelBuilder(sheet.path, options, problems, "unknown", free_tags=True)
    builder.notes += [*sheet.notes, *plan.notes, *left_out_note(sheet, plan)]
    records = _one_image_each(
        even_records(sheet, problems, plan.image, spread=_spread(sheet, plan)), plan.image
    )
    paths = {column for column in plan.tags if plain_name(sheet.header[column]) in HIERARCHY_NAMES}
    plain = [column for column in plan.tags if column not in paths]
    silent = Tally()
    _fill_down(records, plan.image, builder)
    texts = [(row, fields[column]) for row, fields in records for column in plain]
    _refuse_values(texts, sheet)
    for row, fields in records:
        tags = [tag for column in plain for tag in _tags(fields[column], splitter)]
        image = plan.image_of(fields)
        if not image and not len(builder) and tags:
            builder.declare(tags, row)
            continue
        tags = [tag for tag in tags if not _is_silent(tag, builder, row, silent)]
        record = builder.record(image, row)
        builder.split(record, "" if plan.split is None else fields[plan.split], row)
        builder.tags(record, dict.fromkeys(tags), row)
        for tag in dict.fromkeys(t for c in plan.denied for t in _tags(fields[c], splitter)):
            if not _is_silent(tag, builder, row, silent):
                builder.mark(record, builder.label(splitter.last(tag), row), NEGATIVE, row)
        for column in paths:
            for path in _paths(fields[column]):
                builder.path(record, path.split(_PATH), row)
    used = [splitter.only] if splitter.only else separators_in(text for _, text in texts)
    used = [mark for mark in used if mark != splitter.path]
    if used:
        hint = "; --separator sets the only one" if len(used) > 1 else ""
        builder.notes.append(f"tags are separated by {', '.join(map(repr, used))}{hint}")
    builder.notes += [*splitter.notes, *_silence_note(silent)]
    return builder.dataset(format)


def _one_image_each(records: Iterable[Record], image: int) -> list[Record]:
    """Records of one image each, where an entry lists several images."""
    return [
        (row, [*fields[:image], name, *fields[image + 1 :]])
        for row, fields in records
        for name in images_in(fields[image])
    ]


def _fill_down(records: Sequence[Record], image: int, builder: LabelBuilder) -> None:
    """Name the image in all rows about it."""
    names = images_of_rows([fields[image] for _, fields in records])
    filled = 0
    for (_, fields), name in zip(records, names, strict=True):
        filled += fields[image] != name
        fields[image] = name
    if filled:
        builder.notes.append(f"{filled:,} rows without image were taken to be about the one above")


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


def _refuse_values(entries: Sequence[tuple[int, str]], sheet: Sheet) -> None:
    """Refuse entries that say more than which tags there are: they would become classes.

    Raises:
        TagfillError: tags with scores, objects with values, or lists of 1 and 0.
    """
    filled = [(row, text.strip()) for row, text in entries if text.strip()]
    row, text = next(((row, text) for row, text in filled if is_unreadable(text)), (0, ""))
    if text:
        raise TagfillError(
            f"an entry is a list or an object that holds more than tags: {quoted(text)}",
            file=sheet.path,
            row=row,
            remedy="write the tags alone, or 1 and 0 in one column per tag",
        )
    hot = [text for _, text in filled if _MULTI_HOT.fullmatch(text)]
    if hot and len(hot) == len(filled) and len(set(map(len, hot))) == 1 and _repeats(hot):
        raise TagfillError(
            f"entries are lists of 1 and 0, such as {quoted(hot[0])}, without names of classes",
            file=sheet.path,
            row=filled[0][0],
            remedy="write them in one column per class, with the names in the header",
        )
    tags = {tag: row for row, text in reversed(filled) for tag in split_tags(text)}
    valued = [tag for tag in tags if _VALUED.fullmatch(tag)]
    if valued and 3 * len(valued) >= 2 * len(tags):
        first = min(valued, key=lambda tag: tags[tag])
        raise TagfillError(
            f"tags are followed by values, such as {quoted(first)}",
            file=sheet.path,
            row=tags[first],
            remedy="keep the tags that you trust, without values, or use columns image, label and"
            " value with 1 and 0",
        )


def _repeats(hot: Sequence[str]) -> bool:
    """Whether an entry has a number twice, as lists of class numbers never do."""
    return any(text.count("0") > 1 or text.count("1") > 1 for text in hot)


def _is_silent(tag: str, builder: LabelBuilder, row: int, silent: Tally) -> bool:
    """Whether a tag is a word for no tags, unless a class list has it; such words are counted."""
    if not says_nothing(tag) or tag in builder.classes:
        return False
    silent.add(row, tag)
    return True


def _silence_note(silent: Tally) -> list[str]:
    """A note on words that were read as "no tags"."""
    words = ", ".join(sorted(repr(word.strip()) for word in silent.words))
    return [f"{silent.bad:,} entries say {words} and were read as no tags"] if silent.bad else []


def _spread(sheet: Sheet, plan: Plan) -> str | None:
    """The separator that rejoins surplus fields: more tags, if tags come last."""
    return plan.splitter.only or ";" if plan.tags[-1] == len(sheet.header) - 1 else None


def _tags(text: str, splitter: Splitter) -> list[str]:
    return [without_guard(tag) for tag in splitter.tags(without_guard(text))]


def _paths(text: str) -> list[str]:
    """Paths such as ``animal|bird`` in one entry: not split at the mark inside them."""
    paths = (path.strip() for path in _PATH_ENDS.split(text))
    return [path for path in paths if path]


def read_long(
    sheet: Sheet, plan: Plan, format: str, options: ReadOptions, problems: Problems
) -> Dataset:
    """The data set of a table with one statement per row."""
    builder = LabelBuilder(sheet.path, options, problems, "unknown", free_tags=plan.value is None)
    builder.notes += [*sheet.notes, *plan.notes, *left_out_note(sheet, plan)]
    record_of: dict[str, int] = {}
    bad, silent = Tally(), Tally()
    records = _one_image_each(even_records(sheet, problems, plan.image), plan.image)
    _fill_down(records, plan.image, builder)
    for row, fields in records:
        image, name = plan.image_of(fields), without_guard(fields[plan.tags[0]])
        text = "1" if plan.value is None else fields[plan.value].strip()
        states_nothing = plan.value is None or not text
        if not image and not record_of and name.strip() and states_nothing:
            builder.declare([name], row)
            continue
        if _is_silent(name, builder, row, silent):
            name = ""
        label = builder.label(name, row) if name.strip() else None
        if image not in record_of:
            record_of[image] = builder.record(image, row)
        builder.split(record_of[image], "" if plan.split is None else fields[plan.split], row)
        code = code_of(text)
        if code is None:
            bad.add(row, text)
        elif not name.strip() and text and plan.value is not None:
            problems.error(f"value {text!r} without a label", file=sheet.path, row=row)
        builder.mark(record_of[image], label, UNKNOWN if code is None else code, row)
    _report_values(bad, sheet, plan, problems)
    builder.notes += _silence_note(silent)
    return builder.dataset(format)


def _report_values(bad: Tally, sheet: Sheet, plan: Plan, problems: Problems) -> None:
    if bad.bad and plan.value is not None:
        name = sheet.header[plan.value].strip()
        several = f"{bad.bad:,} values are" if bad.bad > 1 else "a value is"
        problems.error(
            f"{several} not 1, 0 or empty: {some(bad.examples)}",
            file=sheet.path,
            row=bad.examples[0][0],
            remedy=f"{REMEDY}; to take every row as positive: --ignore-columns {name!r}",
        )
