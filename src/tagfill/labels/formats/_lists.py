"""Tables with tags as text: lists of tags in one entry, or one statement per row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tagfill.errors import Problems, TagfillError
from tagfill.files import without_guard
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._entries import Tally, even_records
from tagfill.labels.formats._names import HIERARCHY_NAMES, plain_name
from tagfill.labels.formats._plan import Plan
from tagfill.labels.formats._sheet import Record, Sheet
from tagfill.labels.formats._tags import is_unreadable, says_nothing, separators_in, split_tags
from tagfill.labels.formats._ticks import REMEDY, code_of, quoted, some
from tagfill.labels.formats._wide import left_out_note
from tagfill.labels.formats.base import ReadOptions
from tagfill.labels.table import UNKNOWN

_PATH_LIKE = re.compile(r"[^>]+(?:>[^>]+)+")
_PATH, _PATH_ENDS = "|", re.compile(r"[;,\n\r]")
_VALUED = re.compile(r"(?:.*[^\W\d_].*|\d+)[:=]\s*(?:[01](?:[.,]\d+)?|[.,]\d+)")
_MULTI_HOT = re.compile(r"[\[(]?\s*[01](?:[,\s]+[01])+\s*[\])]?")


def read_tag_list(
    sheet: Sheet, plan: Plan, format: str, options: ReadOptions, problems: Problems
) -> Dataset:
    """The data set of a table with the tags of an image in one entry, or in several."""
    options = replace(options, separator=plan.separator)
    builder = LabelBuilder(sheet.path, options, problems, "unknown", free_tags=True)
    builder.notes += [*sheet.notes, *plan.notes, *left_out_note(sheet, plan)]
    records = list(even_records(sheet, problems, plan.image, spread=_spread(sheet, plan, options)))
    paths = {column for column in plan.tags if plain_name(sheet.header[column]) in HIERARCHY_NAMES}
    plain = [column for column in plan.tags if column not in paths]
    silent = Tally()
    _fill_down(records, plan.image, builder)
    _refuse_values([(row, fields[column]) for row, fields in records for column in plain], sheet)
    for row, fields in records:
        _blank_silent(fields, plan.tags, builder.classes, row, silent)
        tags = [tag for column in plain for tag in _tags(fields[column], options)]
        image = without_guard(fields[plan.image])
        if not image and not len(builder) and tags:
            builder.declare(tags, row)
            continue
        record = builder.record(image, row)
        builder.split(record, "" if plan.split is None else fields[plan.split], row)
        builder.tags(record, dict.fromkeys(tags), row)
        for column in paths:
            for path in _paths(fields[column]):
                builder.path(record, path.split(_PATH), row)
    texts = [fields[column] for _, fields in records for column in plain]
    _note_separators(builder, texts)
    note_words(builder, texts, silent)
    return builder.dataset(format)


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


def _blank_silent(
    fields: list[str], columns: Sequence[int], classes: Sequence[str], row: int, silent: Tally
) -> None:
    """Empty the entries that are words for no tags, unless a class list has them as tags."""
    for column in columns:
        if says_nothing(fields[column]) and fields[column].strip() not in classes:
            silent.add(row, fields[column])
            fields[column] = ""


def note_words(builder: LabelBuilder, texts: Sequence[str], silent: Tally) -> None:
    """Note words read as "no tags", and marks that might separate tags but were not used."""
    if silent.bad:
        words = ", ".join(sorted(repr(word.strip()) for word in silent.words))
        builder.notes.append(f"{silent.bad:,} entries say {words} and were read as having no tags")
    if builder.options.separator is not None:
        return
    whole = {tag for text in texts for tag in split_tags(text)}
    pathlike = sorted(tag for tag in whole if _PATH_LIKE.fullmatch(tag))
    if pathlike and builder.options.hierarchy is None and 3 * len(pathlike) >= len(whole):
        builder.notes.append(
            f"tags such as {pathlike[0]!r} look like paths: --hierarchy '>' makes them imply the"
            " more general ones"
        )
    for mark in ("/", "+", "&", "~", " "):
        split = {tag: [part.strip() for part in tag.split(mark) if part.strip()] for tag in whole}
        joined = sorted(tag for tag in whole if len(split[tag]) > 1)
        parts = {part for tag in whole for part in split[tag]}
        longer = len({len(split[tag]) for tag in joined}) > 2
        if 2 * len(joined) > len(whole) > 4 and (longer or len(parts) < len(whole)):
            builder.notes.append(
                f"tags such as {joined[0]!r} look like several: --separator {mark!r} would make"
                f" {len(parts):,} tags of {len(whole):,}"
            )
            break


def _spread(sheet: Sheet, plan: Plan, options: ReadOptions) -> str | None:
    """The separator that rejoins surplus fields: more tags, if tags come last."""
    return options.separator or ";" if plan.tags[-1] == len(sheet.header) - 1 else None


def _tags(text: str, options: ReadOptions) -> list[str]:
    tags = split_tags(without_guard(text), options.separator, options.hierarchy)
    return [without_guard(tag) for tag in tags]


def _paths(text: str) -> list[str]:
    """Paths such as ``animal|bird`` in one entry: not split at the mark inside them."""
    paths = (path.strip() for path in _PATH_ENDS.split(text))
    return [path for path in paths if path]


def _note_separators(builder: LabelBuilder, texts: list[str]) -> None:
    given = builder.options.separator
    kept = builder.options.hierarchy
    used = [given] if given else [mark for mark in separators_in(texts) if mark != kept]
    if used and used != [" "]:
        marks = ", ".join(repr(mark) for mark in used)
        hint = "; --separator sets the only one" if len(used) > 1 else ""
        builder.notes.append(f"tags are separated by {marks}{hint}")


def read_long(
    sheet: Sheet, plan: Plan, format: str, options: ReadOptions, problems: Problems
) -> Dataset:
    """The data set of a table with one statement per row."""
    builder = LabelBuilder(sheet.path, options, problems, "unknown", free_tags=plan.value is None)
    builder.notes += [*sheet.notes, *plan.notes, *left_out_note(sheet, plan)]
    record_of: dict[str, int] = {}
    bad = Tally()
    records = list(even_records(sheet, problems, plan.image))
    _fill_down(records, plan.image, builder)
    for row, fields in records:
        image, name = (without_guard(fields[column]) for column in (plan.image, plan.tags[0]))
        text = "1" if plan.value is None else fields[plan.value].strip()
        label = builder.label(name, row) if name.strip() else None
        silent = plan.value is None or not text
        if not image and not record_of and label is not None and silent:
            builder.declare([], row)
            continue
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
