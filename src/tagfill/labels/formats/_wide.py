"""Wide tables, one column per class: which columns are classes, and the data set they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

import numpy as np

from tagfill.errors import TagfillError, counted
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import absence_note
from tagfill.labels.formats._entries import Entries, read_entries
from tagfill.labels.formats._ids import plain_classes, plain_text
from tagfill.labels.formats._merge import Records
from tagfill.labels.formats._names import SPLIT, is_about_file, names_tags
from tagfill.labels.formats._plan import Plan
from tagfill.labels.formats._rows import Tally
from tagfill.labels.formats._sheet import Sheet
from tagfill.labels.formats._tags import split_tags
from tagfill.labels.formats._ticks import (
    MINUS_BESIDE_ZERO,
    MINUS_REMEDY,
    REMEDY,
    code_of,
    examples_text,
    is_share,
)
from tagfill.labels.formats._write import split_of_rows
from tagfill.labels.formats.base import Source
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels

_MANY = 20
"""One of that many entries is empty where people leave out what they do not mention."""
_SIGNS = {"*", "/"}
_SHOWN = 5
_SHARES = "if these are probabilities, write 1 and 0 by a threshold that you choose"


EntriesReader = Callable[[Source, Sheet, Plan], tuple[Entries, list[Tally]]]


def read_wide(
    source: Source, sheet: Sheet, plan: Plan, read: EntriesReader = read_entries
) -> Dataset:
    entries, tallies = read(source, sheet, plan)
    unsure = _accept_zeros(source, tallies, entries.values)
    unsure += _accept_minus(source, tallies, entries.values)
    names = class_names(source, sheet, plan)
    kept, notes = _classes_among(source, names, tallies, sheet.header_row or None)
    classes, values = [names[number] for number in kept], entries.values
    splits = [plan.split_of(text) for text in entries.splits]
    values = values if len(kept) == len(names) else values[:, kept]
    if splits and not any(code_of(text) is None for text in splits):  # a class like any other
        place = sum(plan.labels[number] < (plan.split or 0) for number in kept)
        classes.insert(place, sheet.header[plan.split or 0].strip())
        codes = np.array([code_of(text) for text in splits], dtype=np.int8)
        if source.options.zeros == "unknown":
            codes[codes == NEGATIVE] = UNKNOWN
        values = np.insert(values, place, codes, axis=1)
        splits = []
    notes = [*sheet.notes, *plan.notes, *left_out_note(sheet, plan), *notes, *unsure]
    return wide_dataset(
        source,
        classes,
        Entries(entries.images, entries.rows, splits, values),
        notes,
        raters=plan.rater is not None,
    )


def _accept_zeros(source: Source, tallies: Sequence[Tally], values: Labels) -> list[str]:
    """Take 0 for unknown where the user says so, and -1 for absent then, if no entry is empty."""
    if source.options.zeros == "negative":
        return []
    unsure = [tally for tally in tallies if tally.bad and tally.minus]
    empty = int((values == UNKNOWN).sum()) - sum(tally.bad for tally in tallies)
    if not unsure or empty:
        values[values == NEGATIVE] = UNKNOWN
        return []
    values[values != POSITIVE] = NEGATIVE + UNKNOWN - values[values != POSITIVE]
    return [f"{_accepted(unsure)} was read as absent"]


def _accepted(unsure: Sequence[Tally]) -> str:
    """Take what these columns hold for no fault; returns it."""
    for tally in unsure:
        tally.filled, tally.bad = tally.filled - tally.bad, 0
    return ", ".join(sorted({text.strip() for tally in unsure for text in tally.words}))


def _accept_minus(source: Source, tallies: Sequence[Tally], values: Labels) -> list[str]:
    """Take -1 for what the user says absence means, unless 0 might mean unknown then.

    Beside 1, 0 and empty entries, -1 can only mean that somebody was not sure: a note says so.
    """
    absent = source.options.absent
    unsure = [tally for tally in tallies if tally.bad and tally.minus]
    if not unsure:
        return []
    zeros = bool((values == NEGATIVE).any())
    empty = int((values == UNKNOWN).sum()) - sum(tally.bad for tally in tallies)
    all_three = zeros and bool((values == POSITIVE).any()) and _MANY * empty >= values.size
    told = absent == "unknown" or (absent is not None and not zeros)
    if not (told or (all_three and absent is None)):
        for tally in unsure:
            tally.beside_zero = zeros
        return []
    signs = _accepted(unsure)
    return [] if told else [f"{signs} beside 1, 0 and empty entries was read as unknown"]


def class_names(source: Source, sheet: Sheet, plan: Plan) -> list[str]:
    """The names in the header, or those that the user lists."""
    listed = source.options.classes
    names = [plain_text(sheet.header[column]) for column in plan.labels]
    numbered = any(names == [str(n + first) for n in range(len(names))] for first in (0, 1))
    fits = listed is not None and len(listed) == len(names)
    if listed is not None and fits and (sheet.header_row is None or numbered):
        return list(listed)
    if sheet.header_row is not None:
        return names
    if not plan.labels:
        remedy = "add a column with the tags of some images"
        raise source.refusal("it lists images and nothing about them", remedy=remedy)
    nameless = counted(len(plan.labels), "class has", "classes have")
    raise source.refusal(
        f"the table has no header, so {nameless} no name",
        1,
        remedy="add a line with the names, or list them in order with --classes",
    )


def _classes_among(
    source: Source, names: Sequence[str], tallies: Sequence[Tally], row: int | None
) -> tuple[list[int], list[str]]:
    """Which columns are classes, and notes on those that are not.

    A column in which most entries are no labels, such as ratings, dates or sizes, is left out;
    single bad entries are errors, one for a column, and stay unknown.
    """
    foreign = []
    for number, (name, tally) in enumerate(zip(names, tallies, strict=True)):
        all_bad = tally.bad == tally.filled or tally.kind == "number"  # as ratings and counts are
        other_name = is_about_file(name) or names_tags(name)
        if tally.bad and (tally.no_labels or (all_bad and other_name)):
            foreign.append(number)
    shared = {word for n, tally in enumerate(tallies) if n not in foreign for word in tally.words}
    foreign = [n for n in foreign if not (tallies[n].few_words and tallies[n].words <= shared)]
    kept = [number for number in range(len(names)) if number not in foreign]
    clean = any(tallies[number].filled for number in kept)
    unread = [number for number in foreign if tallies[number].few_words and not clean]
    found = {names[number]: tallies[number] for number in foreign}
    if foreign and (unread or not any(tallies[n].filled or not tallies[n].bad for n in kept)):
        raise _no_classes(source, found, row)
    for name, tally in found.items():
        tags = {tag.lower() for text in tally.words for tag in split_tags(text)}
        tags -= {names[n].strip().lower() for n in kept}
        if tags and names_tags(name) and tally.kind == "text":
            source.error(
                f"column {name!r} names tags, such as {examples_text(tally.examples)}, beside"
                " columns of 1 and 0",
                row,
                remedy=f"read it alone: --tags-column {name!r}; or the others:"
                f" --ignore-columns {name!r}",
            )
    _report(source, {names[number]: tallies[number] for number in kept if tallies[number].bad})
    notes = []
    if foreign:
        listed = "; ".join(f"{name!r}: {tally}" for name, tally in found.items())
        notes.append(f"columns left out, as they hold no labels: {listed}")
    doubtful = [repr(names[number]) for number in kept if is_about_file(names[number])]
    if doubtful:
        notes.append(
            f"{', '.join(doubtful)}: read as classes; --ignore-columns leaves out what is none"
        )
    return kept, notes


def _no_classes(source: Source, columns: Mapping[str, Tally], row: int | None) -> TagfillError:
    listed = "; ".join(f"{name!r}: {tally}" for name, tally in islice(columns.items(), _SHOWN))
    listed += f"; and {len(columns) - _SHOWN} more columns" if len(columns) > _SHOWN else ""
    like_tags = [name.strip() for name, tally in columns.items() if tally.like_tags]
    several = f", such as --tags-column {','.join(like_tags)!r}" if like_tags else ""
    remedy = f"{REMEDY}; if columns hold tags, name them with --tags-column{several}"
    if all(is_share(text.strip()) for tally in columns.values() for text in tally.words):
        remedy = _SHARES
    return source.refusal(f"no column holds known label values ({listed})", row, remedy)


def _report(source: Source, faulty: Mapping[str, Tally]) -> None:
    rows = {tally.examples[0][0] for tally in faulty.values()}
    if len(faulty) > 1 and len(rows) == 1 and all(tally.bad == 1 for tally in faulty.values()):
        row, text = next(iter(faulty.values())).examples[0]  # such as sums below a table
        source.error(
            f"{len(faulty)} entries of this row are not 1, 0 or empty, such as {text!r}",
            row,
            remedy=f"delete the row if it holds sums; {REMEDY}",
        )
        return
    for name, tally in faulty.items():
        row, text = tally.examples[0]
        message = f"{text!r} in column {name!r} is not 1, 0 or empty"
        if tally.bad > 1:
            message = (
                f"{tally.bad:,} entries in column {name!r} are not 1, 0 or empty, such as"
                f" {examples_text(tally.examples)}"
            )
        source.error(message, row, remedy=_remedy(name, tally))


def _remedy(name: str, tally: Tally) -> str:
    """What to do about entries that are no labels; nothing that loses those that are."""
    words = {text.strip() for text in tally.words}
    if tally.minus:
        sign = "-1" if words <= {"-1", "-1.0"} else min(words)
        return (MINUS_BESIDE_ZERO if tally.beside_zero else MINUS_REMEDY).format(sign)
    if words <= _SIGNS:
        return f"{sorted(words)[0]!r} has several meanings: write 1, 0 or nothing in its place"
    if all(map(is_share, words)):
        return _SHARES
    if all(map(str.isdecimal, words)):
        return (
            "if these are counts, write 1 for what is above 0; if the column holds no labels:"
            f" --ignore-columns {name!r}"
        )
    if tally.kind == "text" and tally.bad == tally.filled:
        return f"{REMEDY}; if the column lists tags: --tags-column {name!r}"
    return f"{REMEDY}; if the column holds no labels: --ignore-columns {name!r}"


def left_out_note(sheet: Sheet, plan: Plan) -> list[str]:
    names = [
        repr(sheet.header[column].strip() or f"column {column + 1}") + f" ({reason})"
        for column, reason in sorted(plan.left_out.items())
        if sheet.header[column].strip() or reason != "empty"
    ]
    return [f"columns left out: {', '.join(names)}"] if names else []


def wide_dataset(
    source: Source,
    names: Sequence[str],
    entries: Entries,
    notes: Sequence[str] = (),
    *,
    raters: bool = False,
) -> Dataset:
    """The data set of a wide table whose columns are the given classes.

    Args:
        source: what is being read.
        names: the classes.
        entries: what the table holds.
        notes: decisions a user should see.
        raters: whether several people labeled each image.
    """
    known, values, notes = plain_classes(names, source), entries.values, list(notes)
    classes = source.options.classes or known
    if classes != known:
        listed = set(classes)
        for name in known:
            if name not in listed:
                source.error(f"class {name!r} is not in the class list", 1)
        missing = [name for name in classes if name not in known]
        columns = [known.index(name) if name in known else -1 for name in classes]
        values = np.pad(values, ((0, 0), (0, 1)), constant_values=UNKNOWN)[:, columns]
        if missing:
            notes.append(f"classes of the list without a column: {', '.join(missing)}")
    notes += _meaning(source, values)
    if source.options.absent == "negative":
        values = np.where(values == UNKNOWN, np.int8(NEGATIVE), values)
    splits = {record: name for record, name in enumerate(entries.splits) if name.strip()}
    records = Records(source, entries.images, entries.rows, classes, values, splits, raters)
    return records.dataset(notes=notes)


def _meaning(source: Source, values: Labels) -> list[str]:
    """What 0 and empty entries were taken to mean, and which options change it."""
    options = source.options
    empty, zeros = bool((values == UNKNOWN).any()), bool((values == NEGATIVE).any())
    if options.zeros == "unknown":
        return ["0 and empty entries count as unknown (--zeros unknown)"]
    if not zeros or options.absent == "negative":
        return [absence_note(options.absent or "unknown")]
    if empty:
        return ["0 counts as absent, empty entries as unknown (--zeros unknown, --absent negative)"]
    if values.shape[1] > 2 and ((values == POSITIVE).sum(axis=1) == 1).all():
        return [
            "every image has one tag, and 0 counts as absent: if images may show more than was"
            " written down, read 0 as unknown with --zeros unknown"
        ]
    return ["0 counts as absent (--zeros unknown changes this)"]


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
