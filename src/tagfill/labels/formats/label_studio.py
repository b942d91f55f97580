"""Label Studio tasks (JSON): multiple-choice annotations in, annotations and predictions out.

A submitted annotation states its choices as positives; the other classes are unknown, or negative
with ``--absent negative``, for annotators who looked for all of them. One submitted without any
choice confirms that the image has none. A task without annotation, or with only skipped ones, says
nothing. Where annotators disagree the label is unknown.

Partly known labels are written with a second control, ``not_present``, that lists the negatives:
an annotation that has it leaves all classes named in neither control unknown.

The short export, JSON-MIN, is read the same way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tagfill.errors import Problems, TagfillError
from tagfill.files import write_text
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder, absence_note
from tagfill.labels.formats._json import listed, load_json, mapped, objects, texts
from tagfill.labels.formats._names import SPLIT
from tagfill.labels.formats._studio import (
    NOT_PRESENT,
    STUDIO,
    TAGS,
    Task,
    address,
    agreed,
    answers,
    images_of,
    is_minimal,
    is_task,
    proposals,
    renamed,
    results,
    spelled_out,
)
from tagfill.labels.formats._text import head
from tagfill.labels.formats._write import known_labels, not_held, split_of_rows
from tagfill.labels.formats.base import Format, ReadOptions
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, LabelTable


def _detect(path: Path) -> bool:
    text = head(path).lstrip()
    return (text.startswith("[") and STUDIO.search(text) is not None) or is_task(text)


def _read(path: Path, options: ReadOptions, problems: Problems) -> Dataset:
    tasks = _tasks(path)
    builder = LabelBuilder(path, replace(options, absent=None), problems)
    _declare_classes(tasks, builder)
    labels = {name: builder.label(name) for name in builder.classes}
    kinds = {str(entry.get("type")) for task in tasks for entry in results(task)}
    if not labels and kinds:
        raise TagfillError(
            f"its annotations hold {', '.join(sorted(kinds))}, but no choices",
            file=path,
            remedy="tags are read from Choices; export shapes as COCO",
        )
    absent = options.absent or "unknown"
    disputed = silent = empty = 0
    images = images_of(tasks)
    proposed: list[tuple[int, str, float, str]] = []
    for row, task in enumerate(tasks, 1):
        record = builder.record(images[row - 1], row)
        split = mapped(task["data"]).get(SPLIT)
        builder.split(record, split if isinstance(split, str) else "", row)
        votes = [answer.codes(tuple(labels), absent) for answer in answers(task)]
        silent += not votes
        empty += bool(votes) and all(set(vote.values()) == {NEGATIVE} for vote in votes)
        for name, label in labels.items():
            value = agreed(votes, name)
            disputed += value is None
            builder.mark(record, label, UNKNOWN if value is None else value, row)
        proposed += [(record, *proposal) for proposal in proposals(task)]
    if disputed:
        problems.warn(f"annotators disagree on {disputed} labels: left unknown", file=path)
    older = sum(max(0, len(listed(task.get("predictions"))) - 1) for task in tasks)
    if older:
        builder.notes.append(f"{older} predictions were left out: a task has a newer one")
    builder.notes.append(f"{silent} of {len(tasks)} tasks have no submitted annotation")
    if empty:
        builder.notes.append(
            f"{empty:,} submitted annotations choose nothing: they say that no class applies"
        )
    builder.notes.append(f"in submitted annotations {absence_note(absent)}")
    dataset = builder.dataset(FORMAT.name)
    return replace(dataset, suggestions=builder.suggestions(proposed))


def _tasks(path: Path) -> list[dict[str, Any]]:
    tasks = load_json(path)
    tasks = [tasks] if mapped(mapped(tasks).get("data")) else tasks
    if not isinstance(tasks, list):
        raise TagfillError("expected a list of Label Studio tasks", file=path)
    minimal = bool(tasks) and all(map(is_minimal, tasks))
    spelled = [spelled_out(task) for task in tasks] if minimal else list(map(renamed, tasks))
    for row, task in enumerate(spelled, 1):
        if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
            raise TagfillError(
                "not a Label Studio task: it has no data",
                file=path,
                row=row,
                remedy="export all tasks as JSON, or all as JSON-MIN",
            )
        if len(objects(task.get("annotations"))) < len(listed(task.get("annotations"))):
            raise TagfillError("an annotation has no content", file=path, row=row)
    return spelled


def _declare_classes(tasks: Sequence[Task], builder: LabelBuilder) -> None:
    """Number the classes: those listed in the data, then all choices in order of appearance."""
    declared = [name for task in tasks for name in texts(task["data"].get("classes"))]
    for name in declared:
        builder.label(name)
    for row, task in enumerate(tasks, 1):
        for answer in answers(task):
            for name in (*answer.chosen, *(answer.refused or ())):
                builder.label(name, row)
        for name, _, _ in proposals(task):
            builder.label(name, row)
    if not declared and builder.options.classes is None:
        builder.notes.append(
            f"the classes are the {len(builder.classes)} choices that occur; choices that were"
            " never made are missing"
        )


def _write(dataset: Dataset, path: Path) -> list[str]:
    table = dataset.table
    names, lost = split_of_rows(dataset)
    predictions = _predictions(dataset)
    lines = []
    for row, image in enumerate(table.images):
        data: dict[str, Any] = {"image": address(image)}
        if names[row]:
            data[SPLIT] = names[row]
        if row == 0:
            data["classes"] = list(table.classes)
        task: dict[str, Any] = {"data": data, "annotations": _annotations(table, row)}
        if row in predictions:
            task["predictions"] = [predictions[row]]
        lines.append(json.dumps(task, ensure_ascii=False))
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    return lost + not_held(dataset, suggestions=True)


def _annotations(table: LabelTable, row: int) -> list[dict[str, Any]]:
    values = table.values[row]
    if (values == UNKNOWN).all():
        return []
    chosen, refused = (known_labels(table, row, value) for value in (POSITIVE, NEGATIVE))
    results = [_choices(TAGS, chosen)] if chosen else []
    if (values != NEGATIVE).any():
        results.append(_choices(NOT_PRESENT, refused))
    return [{"was_cancelled": False, "result": results}]


def _choices(control: str, names: list[str]) -> dict[str, Any]:
    return {
        "from_name": control,
        "to_name": "image",
        "type": "choices",
        "value": {"choices": names},
    }


def save_edited_tasks(source: Path, out: Path, changes: Mapping[str, Mapping[str, int]]) -> bool:
    """Write a copy with one more annotation a changed task, in place of those it overrules."""
    tasks = _tasks(source)
    for task, image in zip(tasks, images_of(tasks), strict=True):
        if image not in changes:
            continue
        said = answers(task)
        chosen = dict.fromkeys(name for answer in said for name in answer.chosen)
        refused = dict.fromkeys(name for answer in said for name in answer.refused or ())
        for name, value in changes[image].items():
            chosen.pop(name, None)
            refused.pop(name, None)
            if value != UNKNOWN:
                (chosen if value == POSITIVE else refused)[name] = None
        results = [_choices(TAGS, list(chosen))] if chosen else []
        results.append(_choices(NOT_PRESENT, list(refused)))
        task["annotations"] = [{"was_cancelled": False, "result": results}]
    lines = [json.dumps(task, ensure_ascii=False) for task in tasks]
    write_text(out, "[\n" + ",\n".join(lines) + "\n]\n")
    return True


def _predictions(dataset: Dataset) -> dict[int, dict[str, Any]]:
    """One prediction per row with suggested tags; its score is that of the best tag."""
    suggestions = dataset.suggestions
    if suggestions is None:
        return {}
    scores_of: dict[int, dict[str, float]] = {}
    for image, label, score in zip(
        suggestions.image, suggestions.label, suggestions.score, strict=True
    ):
        scores_of.setdefault(int(image), {})[dataset.table.classes[label]] = float(score)
    return {
        row: {
            "model_version": suggestions.model,
            "score": max(scores.values()),
            "result": [{**_choices(TAGS, list(scores)), "meta": {"scores": scores}}],
        }
        for row, scores in scores_of.items()
    }


FORMAT = Format(
    name="label_studio",
    title="Label Studio tasks json",
    detect=_detect,
    read=_read,
    write=_write,
    default_absent="unknown",
)
