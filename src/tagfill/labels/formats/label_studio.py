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

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tagfill.console import json_text
from tagfill.errors import TagfillError
from tagfill.files import write_text
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder, absence_note
from tagfill.labels.formats._ids import uploaded_names
from tagfill.labels.formats._json_values import (
    listed,
    load_json,
    mapped,
    number,
    objects,
    texts,
)
from tagfill.labels.formats._names import SPLIT, is_image_name
from tagfill.labels.formats._text import head
from tagfill.labels.formats._write import known_labels, not_held, split_of_rows
from tagfill.labels.formats.base import Absent, Edit, Format, Source
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, LabelTable

TAGS, NOT_PRESENT = "tags", "not_present"
"""Names of the two controls: choices that apply, and choices known not to apply."""

Task = Mapping[str, Any]
STUDIO = re.compile(r'"data"\s*:\s*\{|"(?:annotation_id|annotator|lead_time)"\s*:')
"""Signs of Label Studio."""

_LOCAL = "/data/local-files/?d="
_DATA = "/data/"
_URL = re.compile(r"[A-Za-z][\w+.-]*://")
_MIN_KEYS = frozenset(["id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time"])
"""Keys of JSON-MIN that describe the annotation itself."""


def _detect(path: Path) -> bool:
    text = head(path).lstrip()
    return (text.startswith("[") and STUDIO.search(text) is not None) or is_task(text)


def _read(source: Source) -> Dataset:
    tasks = _tasks(source.path)
    builder = LabelBuilder(source)
    builder.absent, absent = None, source.options.absent or "unknown"
    _declare_classes(tasks, builder)
    labels = {name: builder.label(name) for name in builder.classes}
    annotations = (entry for task in tasks for entry in objects(task.get("annotations")))
    results = (entry for annotation in annotations for entry in objects(annotation.get("result")))
    kinds = {str(entry.get("type")) for entry in results}
    if not labels and kinds:
        raise source.refusal(
            f"its annotations hold {', '.join(sorted(kinds))}, but no choices",
            remedy="tags are read from Choices; export shapes as COCO",
        )
    disputed = silent = empty = 0
    images = _images_of(tasks)
    for row, task in enumerate(tasks, 1):
        record = builder.record(images[row - 1], row)
        split = mapped(task["data"]).get(SPLIT)
        builder.split(record, split if isinstance(split, str) else "", row)
        votes = [answer.codes(tuple(labels), absent) for answer in _answers(task)]
        silent += not votes
        empty += bool(votes) and all(set(vote.values()) == {NEGATIVE} for vote in votes)
        for name, label in labels.items():
            known = {vote[name] for vote in votes if name in vote} - {UNKNOWN}
            disputed += len(known) > 1
            builder.mark(record, label, known.pop() if len(known) == 1 else UNKNOWN, row)
        for name, score, model in _proposals(task):
            builder.suggest(record, labels.get(name), score, model)
    if disputed:
        source.warn(f"annotators disagree on {disputed} labels: left unknown")
    older = sum(max(0, len(listed(task.get("predictions"))) - 1) for task in tasks)
    if older:
        builder.notes.append(f"{older} predictions were left out: a task has a newer one")
    builder.notes.append(f"{silent} of {len(tasks)} tasks have no submitted annotation")
    if empty:
        builder.notes.append(
            f"{empty:,} submitted annotations choose nothing: they say that no class applies"
        )
    builder.notes.append(f"in submitted annotations {absence_note(absent)}")
    return builder.dataset()


def _tasks(path: Path) -> list[dict[str, Any]]:
    tasks = load_json(path)
    tasks = [tasks] if mapped(mapped(tasks).get("data")) else tasks
    if not isinstance(tasks, list):
        raise TagfillError("expected a list of Label Studio tasks", file=path)
    if tasks and all(map(_is_minimal, tasks)):
        tasks = [_spelled_out(task) for task in tasks]
    for row, task in enumerate(tasks, 1):
        if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
            raise TagfillError(
                "not a Label Studio task: it has no data",
                file=path,
                row=row,
                remedy="export all tasks as JSON, or all as JSON-MIN",
            )
        if "completions" in task:  # as they were called before version 1
            task.setdefault("annotations", task["completions"])
        if len(objects(task.get("annotations"))) < len(listed(task.get("annotations"))):
            raise TagfillError("an annotation has no content", file=path, row=row)
    return tasks


def _images_of(tasks: Sequence[Task]) -> list[str]:
    """The image id of every task: its path in local storage or among uploads, or its address."""
    images = []
    for task in tasks:
        data = {key: value for key, value in task["data"].items() if isinstance(value, str)}
        key = next((name for name in data if is_image_name(name)), next(iter(data), None))
        images.append("" if key is None else data[key])
    uploads = uploaded_names(images)
    for row, image in enumerate(images):
        if image.startswith(_LOCAL):
            images[row] = "".join(parse_qs(urlsplit(image).query).get("d", []))
        elif image.startswith(_DATA):
            images[row] = unquote(image.removeprefix(_DATA))
    return [upload or image for upload, image in zip(uploads, images, strict=True)]


def _stated_choices(results: Any) -> Iterator[tuple[str, list[str], Mapping[str, Any]]]:
    """Control name, chosen names and the whole entry of every choices entry of a result list."""
    for entry in objects(results):
        value = mapped(entry.get("value"))
        if isinstance(value.get("choices"), list):
            yield str(entry.get("from_name")), texts(value["choices"]), entry


def _is_minimal(task: Any) -> bool:
    """Whether a record is of a JSON-MIN export: data and choices side by side."""
    return (
        isinstance(task, dict)
        and not isinstance(task.get("data"), dict)
        and any(is_image_name(key) and isinstance(task[key], str) for key in task)
    )


def is_task(text: str) -> bool:
    """Whether a text begins with one task alone."""
    keys = ('"data"', '"annotations"', '"completions"', '"predictions"')
    first, *others = (re.search(rf"{key}\s*:\s*[\[{{]", text) for key in keys)
    return text.startswith("{") and first is not None and first[0].endswith("{") and any(others)


def _spelled_out(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record of a JSON-MIN export as a full task."""
    data: dict[str, Any] = {}
    results = []
    for key, value in record.items():
        chosen = texts(mapped(value).get("choices")) or texts(value)
        is_choice = isinstance(value, str) and not is_image_name(key) and key not in _MIN_KEYS
        if is_choice and key != "split":
            chosen = [value.strip()] if value.strip() else []
        if chosen:
            results.append({"from_name": key, "value": {"choices": chosen}})
        elif isinstance(value, str):
            data[key] = value
    annotated = results or any(key in record for key in ("annotation_id", "annotator"))
    return {"data": data, "annotations": [{"result": results}] if annotated else []}


@dataclass(frozen=True)
class Answer:
    """One submitted annotation.

    Args:
        chosen: the classes that apply.
        refused: the classes rejected; ``None`` if nothing but choices was recorded.
        about_choices: false where the annotation holds other things, such as boxes, and no choices.
    """

    chosen: tuple[str, ...]
    refused: tuple[str, ...] | None
    about_choices: bool

    def codes(self, classes: tuple[str, ...], absent: Absent) -> dict[str, int]:
        """The label of every class by this annotation alone."""
        complete = self.about_choices and self.refused is None
        rest = NEGATIVE if complete and (absent == "negative" or not self.chosen) else UNKNOWN
        return {
            **dict.fromkeys(classes, rest),
            **dict.fromkeys(self.refused or (), NEGATIVE),
            **dict.fromkeys(self.chosen, POSITIVE),
        }


def _answers(task: Task) -> list[Answer]:
    """The submitted annotations of a task; skipped ones do not count."""
    submitted = []
    for annotation in objects(task.get("annotations")):
        if annotation.get("was_cancelled"):
            continue
        results = listed(annotation.get("result"))
        stated = list(_stated_choices(results))
        refused = [names for control, names, _ in stated if control == NOT_PRESENT]
        chosen = [names for control, names, _ in stated if control != NOT_PRESENT]
        submitted.append(
            Answer(
                chosen=tuple(name for names in chosen for name in names),
                refused=tuple(name for names in refused for name in names) if refused else None,
                about_choices=bool(stated) or not results,
            )
        )
    return submitted


def _proposals(task: Task) -> Iterator[tuple[str, float | None, str]]:
    """Class, score and model of every tag that the newest prediction of a task proposes."""
    for prediction in objects(task.get("predictions"))[-1:]:
        model = str(prediction.get("model_version") or "unknown model")
        for _, names, entry in _stated_choices(prediction.get("result")):
            scores = mapped(mapped(entry.get("meta")).get("scores"))
            common = entry.get("score", prediction.get("score"))
            for name in names:
                yield name, number(scores.get(name, common)), model


def _declare_classes(tasks: Sequence[Task], builder: LabelBuilder) -> None:
    """Number the classes: those listed in the data, then all choices in order of appearance."""
    declared = [name for task in tasks for name in texts(task["data"].get("classes"))]
    for name in declared:
        builder.label(name)
    for row, task in enumerate(tasks, 1):
        for answer in _answers(task):
            for name in (*answer.chosen, *(answer.refused or ())):
                builder.label(name, row)
        for name, _, _ in _proposals(task):
            builder.label(name, row)
    if not declared and builder.source.options.classes is None:
        builder.notes.append(
            f"the classes are the {len(builder.classes)} choices that occur; choices that were"
            " never made are missing"
        )


def _write(dataset: Dataset, path: Path) -> list[str]:
    table = dataset.table
    names, lost = split_of_rows(dataset)
    suggested = dataset.suggested
    lines = []
    for row, image in enumerate(table.images):
        data: dict[str, Any] = {"image": image if _URL.match(image) else _LOCAL + quote(image)}
        if names[row]:
            data[SPLIT] = names[row]
        if row == 0:
            data["classes"] = list(table.classes)
        task: dict[str, Any] = {"data": data, "annotations": _annotations(table, row)}
        if dataset.suggestions is not None and row in suggested:
            scores = suggested[row]
            prediction = {
                "model_version": dataset.suggestions.model,
                "score": max(scores.values()),
                "result": [{**_choices(TAGS, list(scores)), "meta": {"scores": scores}}],
            }
            task["predictions"] = [prediction]
        lines.append(json_text(task))
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


def _edit(edit: Edit, out: Path) -> bool:
    """Write a copy with one annotation a changed task, in place of those it overrules."""
    tasks = _tasks(edit.source.path)
    for task, image in zip(tasks, edit.ids_of(_images_of(tasks)), strict=True):
        if image not in edit.changes:
            continue
        said = _answers(task)
        chosen = dict.fromkeys(name for answer in said for name in answer.chosen)
        refused = dict.fromkeys(name for answer in said for name in answer.refused or ())
        for name, value in edit.changes[image].items():
            chosen.pop(name, None)
            refused.pop(name, None)
            if value != UNKNOWN:
                (chosen if value == POSITIVE else refused)[name] = None
        results = [_choices(TAGS, list(chosen))] if chosen else []
        results.append(_choices(NOT_PRESENT, list(refused)))
        task["annotations"] = [{"was_cancelled": False, "result": results}]
    lines = [json_text(task) for task in tasks]
    write_text(out, "[\n" + ",\n".join(lines) + "\n]\n")
    return True


FORMAT = Format("label_studio", "Label Studio tasks json", _detect, _read, write=_write, edit=_edit)
