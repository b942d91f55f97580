"""Wide tables, one column per class: which columns are classes, and the data set they make."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tagfill.errors import Problems, TagfillError, counted
from tagfill.files import without_guard
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import absence_note
from tagfill.labels.formats._entries import Entries, Tally, read_entries
from tagfill.labels.formats._ids import clean_ids, find_root, plain_classes, plain_text
from tagfill.labels.formats._merge import Records
from tagfill.labels.formats._names import SPLIT, is_about_file, is_label_name, is_tags_name
from tagfill.labels.formats._plan import Plan
from tagfill.labels.formats._sheet import Sheet
from tagfill.labels.formats._tags import split_tags
from tagfill.labels.formats._ticks import MINUS_REMEDY, REMEDY, code_of, some
from tagfill.labels.formats._write import split_of_rows
from tagfill.labels.formats.base import ReadOptions
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels

_MANY = 20
"""One of that many entries is empty where people leave out what they do not mention."""
_SIGNS = {"*", "/"}
_SHOWN = 5
_SHARES = "if these are probabilities, write 1 and 0 by a threshold that you choose"


def read_wide(
    sheet: Sheet, plan: Plan, format: str, options: ReadOptions, problems: Problems
) -> Dataset:
    """The data set of a table with one column per class."""
    entries, tallies = read_entries(sheet, plan, problems)
    unsure = accept_minus(tallies, entries.values, options)
    names = _class_names(sheet, plan, options)
    kept, notes = classes_among(names, tallies, sheet.path, problems, sheet.header_row)
    values = entries.values if len(kept) == len(names) else entries.values[:, kept]
    classes = tuple(names[number] for number in kept)
    entries = Entries(entries.images, entries.rows, entries.splits, values)
    if entries.splits and not any(code_of(text) is None for text in entries.splits):
        split = plan.split or 0
        place = sum(plan.labels[number] < split for number in kept)
        entries = _split_as_class(entries, place)
        classes = (*classes[:place], sheet.header[split].strip(), *classes[place:])
    notes = [*sheet.notes, *left_out_note(sheet, plan), *notes, *unsure]
    return wide_dataset(sheet.path, format, classes, entries, options, problems, notes)


def accept_minus(tallies: Sequence[Tally], values: Labels, options: ReadOptions) -> list[str]:
    """Take -1 for what the user says absence means, unless 0 might mean unknown then.

    Beside 1, 0 and empty entries, -1 can only mean that somebody was not sure: a note says so.
    """
    unsure = [tally for tally in tallies if tally.bad and tally.minus]
    zeros = bool((values == NEGATIVE).any())
    empty = int((values == UNKNOWN).sum()) - sum(tally.bad for tally in tallies)
    doubts = zeros and bool((values == POSITIVE).any()) and _MANY * empty >= values.size
    told = options.absent == "unknown" or (options.absent is not None and not zeros)
    if not unsure or not (told or (doubts and options.absent is None)):
        return []
    for tally in unsure:
        tally.filled, tally.bad = tally.filled - tally.bad, 0
    signs = ", ".join(sorted({text.strip() for tally in unsure for text in tally.words}))
    return [] if told else [f"{signs} beside 1, 0 and empty entries was read as unknown"]


def _class_names(sheet: Sheet, plan: Plan, options: ReadOptions) -> list[str]:
    if sheet.header_row is not None:
        return [without_guard(plain_text(sheet.header[column])) for column in plan.labels]
    if options.classes is not None and len(options.classes) == len(plan.labels):
        return list(options.classes)
    if not plan.labels:
        raise TagfillError(
            "it lists images and nothing about them",
            file=sheet.path,
            remedy="add a column with the tags of some images",
        )
    raise TagfillError(
        f"the table has no header, so {counted(len(plan.labels), 'class has', 'classes have')} no"
        " name",
        file=sheet.path,
        row=1,
        remedy="add a line with the names, or list them in order with --classes",
    )


def classes_among(
    names: Sequence[str],
    tallies: Sequence[Tally],
    path: Path,
    problems: Problems,
    row: int | None = None,
) -> tuple[list[int], list[str]]:
    """Which columns are classes, and notes on those that are not.

    A column in which most entries are no labels, such as ratings, dates or sizes, is left out;
    single bad entries are errors, one for a column, and stay unknown.
    """
    foreign = [
        number
        for number, tally in enumerate(tallies)
        if tally.bad and (tally.no_labels or (_no_class_name(names[number]) and tally.all_bad))
    ]
    shared = {word for n, tally in enumerate(tallies) if n not in foreign for word in tally.words}
    foreign = [n for n in foreign if not (tallies[n].few_words and tallies[n].words <= shared)]
    kept = [number for number in range(len(names)) if number not in foreign]
    clean = any(tallies[number].filled for number in kept)
    unread = [number for number in foreign if tallies[number].few_words and not clean]
    if foreign and (unread or not any(tallies[n].filled or not tallies[n].bad for n in kept)):
        raise _no_classes(names, tallies, foreign, path, row)
    for number in foreign:
        if _tags_in(names[number], tallies[number]) - {names[n].strip().lower() for n in kept}:
            problems.error(
                f"column {names[number]!r} names tags, such as {some(tallies[number].examples)},"
                " beside columns of 1 and 0",
                file=path,
                row=row,
                remedy=f"read it alone: --tags-column {names[number]!r}; or the others:"
                f" --ignore-columns {names[number]!r}",
            )
    faulty = [tallies[number] for number in kept if tallies[number].bad]
    at_fault = {row for tally in faulty for row, _ in tally.examples}
    if len(faulty) > 1 and len(at_fault) == 1 and all(tally.bad == 1 for tally in faulty):
        _report_row(faulty, path, problems)
    else:
        for number in kept:
            _report(names[number], tallies[number], path, problems)
    notes = []
    if foreign:
        listed = "; ".join(f"{names[number]!r}: {tallies[number]}" for number in foreign)
        notes.append(f"columns left out, as they hold no labels: {listed}")
    doubtful = [names[number] for number in kept if is_about_file(names[number])]
    if doubtful:
        listed = ", ".join(map(repr, doubtful))
        notes.append(f"{listed}: read as classes; --ignore-columns leaves out what is none")
    return kept, notes


def _no_class_name(name: str) -> bool:
    return is_about_file(name) or is_label_name(name) or is_tags_name(name)


def _tags_in(name: str, tally: Tally) -> set[str]:
    """Some of the tags in a column that by its name lists tags."""
    if tally.kind != "text" or not (is_label_name(name) or is_tags_name(name)):
        return set()
    return {tag.lower() for text in tally.words for tag in split_tags(text)}


def _no_classes(
    names: Sequence[str],
    tallies: Sequence[Tally],
    columns: Sequence[int],
    path: Path,
    row: int | None,
) -> TagfillError:
    listed = "; ".join(f"{names[number]!r}: {tallies[number]}" for number in columns[:_SHOWN])
    listed += f"; and {len(columns) - _SHOWN} more columns" if len(columns) > _SHOWN else ""
    numbers = {text.strip() for number in columns for text in tallies[number].words}
    if all(map(_is_share, numbers)):
        return TagfillError(
            f"no column holds known label values ({listed})", file=path, row=row, remedy=_SHARES
        )
    like_tags = [names[number].strip() for number in columns if tallies[number].like_tags]
    several = f", such as --tags-column {','.join(like_tags)!r}" if like_tags else ""
    return TagfillError(
        f"no column holds known label values ({listed})",
        file=path,
        row=row,
        remedy=f"{REMEDY}; if columns hold tags, name them with --tags-column{several}",
    )


def _report_row(tallies: Sequence[Tally], path: Path, problems: Problems) -> None:
    """One row is no row of labels, such as a line of sums below a table."""
    problems.error(
        f"{len(tallies)} entries of this row are not 1, 0 or empty, such as"
        f" {tallies[0].examples[0][1]!r}",
        file=path,
        row=tallies[0].examples[0][0],
        remedy=f"delete the row if it holds sums; {REMEDY}",
    )


def _report(name: str, tally: Tally, path: Path, problems: Problems) -> None:
    if not tally.bad:
        return
    if tally.bad == 1:
        message = f"{tally.examples[0][1]!r} in column {name!r} is not 1, 0 or empty"
    else:
        message = (
            f"{tally.bad:,} entries in column {name!r} are not 1, 0 or empty, such as"
            f" {some(tally.examples)}"
        )
    problems.error(message, file=path, row=tally.examples[0][0], remedy=_remedy(name, tally))


def _remedy(name: str, tally: Tally) -> str:
    """What to do about entries that are no labels; nothing that loses those that are."""
    words = {text.strip() for text in tally.words}
    if tally.minus:
        return MINUS_REMEDY.format("-1" if words <= {"-1", "-1.0"} else min(words))
    if words <= _SIGNS:
        return f"{sorted(words)[0]!r} has several meanings: write 1, 0 or nothing in its place"
    if all(map(_is_share, words)):
        return _SHARES
    if all(map(str.isdecimal, words)):
        return (
            "if these are counts, write 1 for what is above 0; if the column holds no labels:"
            f" --ignore-columns {name!r}"
        )
    if tally.kind == "text" and tally.bad == tally.filled:
        return f"{REMEDY}; if the column lists tags: --tags-column {name!r}"
    return f"{REMEDY}; if the column holds no labels: --ignore-columns {name!r}"


def _is_share(text: str) -> bool:
    """Whether a text is a number between 0 and 1, or a percentage."""
    most = 100 if text.endswith("%") else 1
    try:
        return 0 <= float(text.rstrip("% ").replace(",", ".")) <= most
    except ValueError:
        return False


def left_out_note(sheet: Sheet, plan: Plan) -> list[str]:
    """A note on the columns that were not read."""
    names = [
        repr(sheet.header[column].strip() or f"column {column + 1}") + f" ({reason})"
        for column, reason in sorted(plan.left_out.items())
        if sheet.header[column].strip() or reason != "empty"
    ]
    return [f"columns left out: {', '.join(names)}"] if names else []


def _split_as_class(entries: Entries, place: int) -> Entries:
    """A column called "split" that holds labels is a class like any other."""
    codes = np.array([code_of(text) for text in entries.splits], dtype=np.int8)
    values = np.insert(entries.values, place, codes, axis=1)
    return Entries(entries.images, entries.rows, [], values)


def wide_dataset(
    path: Path,
    format: str,
    classes: tuple[str, ...],
    entries: Entries,
    options: ReadOptions,
    problems: Problems,
    notes: Sequence[str] = (),
) -> Dataset:
    """The data set of a wide table whose columns are the given classes."""
    classes = plain_classes(classes, path, problems)
    classes, values, more = _listed(classes, entries.values, path, options, problems)
    notes = [*notes, *more]
    if options.absent == "negative":
        values = np.where(values == UNKNOWN, np.int8(NEGATIVE), values)
        notes.append(absence_note("negative"))
    elif not (values == NEGATIVE).any():
        notes.append(absence_note("unknown"))
    ids, root = clean_ids(entries.images, entries.rows, path, options.image_root, problems)
    records = Records(ids, entries.rows, classes, values, path, problems)
    table, place = records.merged()
    stated = {record: name for record, name in enumerate(entries.splits) if name.strip()}
    return Dataset(
        table=table,
        source=path,
        format=format,
        splits=records.splits(place, stated),
        image_root=root or find_root(path, table.images),
        notes=tuple(notes),
    )


def _listed(
    known: tuple[str, ...], values: Labels, path: Path, options: ReadOptions, problems: Problems
) -> tuple[tuple[str, ...], Labels, list[str]]:
    """Columns in the order of the class list, if given; other classes are errors."""
    if options.classes is None:
        return known, values, []
    for name in known:
        if name not in options.classes:
            problems.error(f"class {name!r} is not in the class list", file=path, row=1)
    listed = np.full((len(values), len(options.classes)), UNKNOWN, dtype=np.int8)
    missing = []
    for column, name in enumerate(options.classes):
        if name in known:
            listed[:, column] = values[:, known.index(name)]
        else:
            missing.append(name)
    notes = [f"classes of the list without a column: {', '.join(missing)}"] if missing else []
    return options.classes, listed, notes


def split_column(dataset: Dataset) -> tuple[list[str], list[str]]:
    """The split of every row for a column beside the classes, and what it cannot hold.

    The column is empty ([]) where there is nothing to write.
    """
    if not dataset.splits:
        return [], []
    if any(name.lower() == SPLIT for name in dataset.table.classes):
        return [], ["splits are not written: a class is called 'split'"]
    names, lost = split_of_rows(dataset)
    return (names if any(names) else []), lost
