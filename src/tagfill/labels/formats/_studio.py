"""What a Label Studio task says: which image it shows, what people chose, what models proposed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tagfill.labels.formats._ids import uploaded_names
from tagfill.labels.formats._json import listed, mapped, number, objects, texts
from tagfill.labels.formats._names import is_image_name
from tagfill.labels.formats.base import Absent
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN

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


def address(image: str) -> str:
    """The address under which Label Studio's local storage serves an image."""
    return image if _URL.match(image) else _LOCAL + quote(image)


def images_of(tasks: Sequence[Task]) -> list[str]:
    """The image id of every task: its path in local storage or among uploads, or its address."""
    sources = [_source(mapped(task.get("data"))) for task in tasks]
    names = uploaded_names(sources)
    return [name or _plain(source) for name, source in zip(names, sources, strict=True)]


def _source(data: Mapping[str, Any]) -> str:
    sources = {key: value for key, value in data.items() if isinstance(value, str)}
    key = next((name for name in sources if is_image_name(name)), next(iter(sources), None))
    return "" if key is None else sources[key]


def _plain(source: str) -> str:
    if source.startswith(_LOCAL):
        return "".join(parse_qs(urlsplit(source).query).get("d", []))
    return unquote(source.removeprefix(_DATA)) if source.startswith(_DATA) else source


def results(task: Task) -> Iterator[Mapping[str, Any]]:
    """All entries of the annotations of a task."""
    for annotation in objects(task.get("annotations")):
        yield from objects(annotation.get("result"))


def choices(results: Any) -> Iterator[tuple[str, list[str], Mapping[str, Any]]]:
    """Control name, chosen names and the whole entry of every choices entry of a result list."""
    for entry in objects(results):
        value = mapped(entry.get("value"))
        if isinstance(value.get("choices"), list):
            yield str(entry.get("from_name")), texts(value["choices"]), entry


def is_minimal(task: Any) -> bool:
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


def renamed(task: Any) -> Any:
    """A task with its annotations under the name they have had since version 1."""
    if isinstance(task, dict) and "completions" in task and "annotations" not in task:
        return {**task, "annotations": task["completions"]}
    return task


def spelled_out(record: Mapping[str, Any]) -> dict[str, Any]:
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


def answers(task: Task) -> list[Answer]:
    """The submitted annotations of a task; skipped ones do not count."""
    submitted = []
    for annotation in objects(task.get("annotations")):
        if annotation.get("was_cancelled"):
            continue
        results = listed(annotation.get("result"))
        stated = list(choices(results))
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


def agreed(votes: list[dict[str, int]], name: str) -> int | None:
    """What annotations say of a class: their common label, ``None`` if they disagree."""
    known = {vote[name] for vote in votes if name in vote} - {UNKNOWN}
    if len(known) > 1:
        return None
    return known.pop() if known else UNKNOWN


def proposals(task: Task) -> Iterator[tuple[str, float, str]]:
    """Class, score and model of every tag that the newest prediction of a task proposes."""
    for prediction in objects(task.get("predictions"))[-1:]:
        model = str(prediction.get("model_version") or "unknown model")
        for _, names, entry in choices(prediction.get("result")):
            scores = mapped(mapped(entry.get("meta")).get("scores"))
            common = entry.get("score", prediction.get("score"))
            for name in names:
                score = number(scores.get(name, common))
                yield name, 1.0 if score is None else score, model
