"""Decisions of people, read back from suggestion files and put into the labels."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tagfill.errors import Problems, TagfillError
from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Dataset, LabelTable
from tagfill.labels.formats import ReadOptions
from tagfill.labels.formats._ticks import code_of
from tagfill.labels.io import load_labels
from tagfill.recover.answers import AnswerRow, answer_rows
from tagfill.recover.files import LABEL_STUDIO


@dataclass(frozen=True)
class Decision:
    """A person's decision about one entry.

    Args:
        row: of the file, to point at.
        image, tag: the entry.
        value: 1 or 0; -1 where nothing was decided.
        doubts: the label that stood there when the person was asked, where the file says so.
        probability: how likely a model found the tag, where the file says so.
    """

    row: int
    image: str
    tag: str
    value: int
    doubts: int | None = None
    probability: float | None = None


@dataclass(frozen=True, eq=False)
class Applied:
    """Labels with decisions in them, and how many there were of each kind."""

    dataset: Dataset
    yes: int
    no: int
    blank: int
    changed: int


def read_decisions(
    path: Path, table: LabelTable, problems: Problems | None = None
) -> list[Decision]:
    """Read a filled-in suggestion file.

    Args:
        path: a file as ``tagfill recover`` wrote it, or the JSON export of Label Studio.
        table: the labels it is about.
        problems: collects warnings, such as rows that are missing.

    Raises:
        TagfillError: the file breaks off, or holds words that mean nothing; all are listed.
    """
    if not path.is_file():
        raise TagfillError("no such file", file=path)
    if path.suffix.lower() == LABEL_STUDIO:
        return list(_annotated(path, table))
    collected, decisions = Problems(), []
    image_of, tag_of = _spelled(table.images), _spelled(table.classes)
    for row in answer_rows(path, collected):
        try:
            decision = _decision(row)
            image, tag = image_of(decision.image), tag_of(decision.tag)
            decisions.append(replace(decision, image=image, tag=tag))
        except ValueError as error:
            collected.error(str(error), file=path, row=row.number)
    collected.raise_errors()
    if problems is not None:
        problems.entries += collected.entries
    return decisions


def apply_decisions(dataset: Dataset, decisions: list[Decision], file: Path) -> Applied:
    """Put decisions into labels: yes becomes 1, no becomes 0, the rest stays.

    Raises:
        TagfillError: an image or tag is unknown, two rows contradict each other, or a row
            contradicts a label that it does not name as the one in doubt; all are listed.
    """
    table, problems = dataset.table, Problems()
    column_of = {name: column for column, name in enumerate(table.classes)}
    values = table.values.copy()
    decided: dict[tuple[int, int], Decision] = {}
    for decision in decisions:
        row, column = table.row_of.get(decision.image), column_of.get(decision.tag)
        if row is None or column is None:
            missing = f"image {decision.image!r}" if row is None else f"tag {decision.tag!r}"
            problems.error(f"{missing} is not in {dataset.source}", file=file, row=decision.row)
        elif decision.value != UNKNOWN:
            fault = _contradiction(
                decision, int(table.values[row, column]), decided.get((row, column))
            )
            if fault:
                problems.error(fault, file=file, row=decision.row)
            decided[row, column] = decision
            values[row, column] = decision.value
    problems.raise_errors()
    said = [decision.value for decision in decided.values()]
    reviewed = values != table.values
    if table.reviewed is not None:
        reviewed |= table.reviewed
    return Applied(
        dataset=replace(dataset, table=replace(table, values=values, reviewed=reviewed)),
        yes=said.count(POSITIVE),
        no=said.count(NEGATIVE),
        blank=sum(decision.value == UNKNOWN for decision in decisions),
        changed=int((values != table.values).sum()),
    )


def _contradiction(decision: Decision, stated: int, earlier: Decision | None) -> str | None:
    entry = f"{decision.tag!r} of image {decision.image!r}"
    words = {POSITIVE: "yes", NEGATIVE: "no"}
    if earlier is not None and earlier.value != decision.value:
        return (
            f"{words[decision.value]} for {entry}, and {words[earlier.value]} in row {earlier.row}"
        )
    if stated not in (UNKNOWN, decision.value) and decision.doubts != stated:
        return f"{words[decision.value]} for {entry}, which the labels state as {words[stated]}"
    return None


def _spelled(names: Sequence[str]) -> Callable[[str], str]:
    """Names as the labels spell them; what a program changed is taken where it fits one name."""
    known, alike = frozenset(names), defaultdict[str, list[str]](list)

    def spelled(name: str) -> str:
        if name in known:
            return name
        if not alike:
            for other in names:
                alike[_plain(other)].append(other)
        fitting = alike.get(_plain(name), [])
        return fitting[0] if len(fitting) == 1 else name

    return spelled


def _plain(name: str) -> str:
    """A name without what systems change: case, slashes, accents in one sign or in two."""
    return unicodedata.normalize("NFC", name).casefold().replace("\\", "/").removeprefix("./")


def _decision(row: AnswerRow) -> Decision:
    fields = row.fields
    label = fields.get("label")
    return Decision(
        row=row.number,
        image=str(fields["image"]).strip(),
        tag=str(fields["tag"]).strip(),
        value=_word(fields["decision"], "decision"),
        doubts=None if label in (None, "") else _word(label, "label"),
        probability=_probability(fields.get("probability")),
    )


def _probability(value: Any) -> float | None:
    try:
        number = float(value.replace(",", ".") if isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 <= number <= 1 else None


def _word(value: Any, column: str) -> int:
    code = code_of("" if value is None else str(value))
    if code is None:
        raise ValueError(f"the {column} {value!r} is not understood: write yes or no, or leave it")
    return code


def _annotated(path: Path, table: LabelTable) -> Iterator[Decision]:
    """Every choice of a submitted task; what was not ticked is a no."""
    options = ReadOptions(classes=table.classes, absent="negative")
    answers = load_labels(path, format="label_studio", options=options).table
    for row, column in np.argwhere(answers.values != UNKNOWN).tolist():
        yield Decision(
            row=row + 1,
            image=answers.images[row],
            tag=answers.classes[column],
            value=int(answers.values[row, column]),
        )
