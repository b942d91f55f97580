"""What a Label Studio task says: which image it shows, what people chose, what models proposed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tagfill.labels.formats._text import ID_NAMES
from tagfill.labels.formats.base import Absent
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN

TAGS, NOT_PRESENT = "tags", "not_present"
"""Names of the two controls: choices that apply, and choices known not to apply."""

_LOCAL = "/data/local-files/?d="
_DATA = "/data/"
_URL = re.compile(r"[A-Za-z][\w+.-]*://")


def address(image: str) -> str:
    """The address under which Label Studio's local storage serves an image."""
    return image if _URL.match(image) else _LOCAL + quote(image)


def image_of(data: Mapping[str, Any]) -> str:
    """The image id of a task's data: its path in local storage or among uploads, or its address."""
    texts = {key: value for key, value in data.items() if isinstance(value, str)}
    key = next((name for name in ID_NAMES if name in texts), next(iter(texts), None))
    found = "" if key is None else texts[key]
    if found.startswith(_LOCAL):
        return "".join(parse_qs(urlsplit(found).query).get("d", []))
    return unquote(found.removeprefix(_DATA)) if found.startswith(_DATA) else found


def choices(results: Any) -> Iterator[tuple[str, list[str], Mapping[str, Any]]]:
    """Control name, chosen names and the whole entry of every choices entry of a result list."""
    for entry in results if isinstance(results, list) else []:
        value = entry.get("value") if isinstance(entry, dict) else None
        if isinstance(value, dict) and isinstance(value.get("choices"), list):
            names = [str(name).strip() for name in value["choices"]]
            yield str(entry.get("from_name")), names, entry


@dataclass(frozen=True)
class Answer:
    """One submitted annotation.

    Args:
        chosen: the classes that apply.
        refused: the classes said not to apply; ``None`` where nothing but choices was recorded.
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


def answers(task: Mapping[str, Any]) -> list[Answer]:
    """The submitted annotations of a task; skipped ones say nothing."""
    found = []
    for annotation in task.get("annotations") or []:
        if annotation.get("was_cancelled"):
            continue
        results = annotation.get("result") or []
        stated = list(choices(results))
        refused = [names for control, names, _ in stated if control == NOT_PRESENT]
        chosen = [names for control, names, _ in stated if control != NOT_PRESENT]
        found.append(
            Answer(
                chosen=tuple(name for names in chosen for name in names),
                refused=tuple(name for names in refused for name in names) if refused else None,
                about_choices=bool(stated) or not results,
            )
        )
    return found


def agreed(votes: list[dict[str, int]], name: str) -> int | None:
    """What annotations say of a class: their common label, ``None`` where they disagree."""
    known = {vote[name] for vote in votes if name in vote} - {UNKNOWN}
    if len(known) > 1:
        return None
    return known.pop() if known else UNKNOWN


def proposals(task: Mapping[str, Any]) -> Iterator[tuple[str, float, str]]:
    """Class, score and model of every tag that the newest prediction of a task proposes."""
    listed = task.get("predictions") or []
    predictions = [each for each in listed if isinstance(each, dict)]
    for prediction in predictions[-1:]:
        model = str(prediction.get("model_version") or "unknown model")
        for _, names, entry in choices(prediction.get("result")):
            scores = (entry.get("meta") or {}).get("scores") or {}
            common = entry.get("score", prediction.get("score"))
            for name in names:
                score = scores.get(name, common)
                yield name, float(score) if isinstance(score, int | float) else 1.0, model
