"""Find photos by tags and words; count tags, alone and together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Rows
from tagfill.serve.queue import LIKELY
from tagfill.serve.service import Service

State = Literal["any", "yes", "no", "suggested", "unknown"]


@dataclass(frozen=True)
class Filter:
    """Which photos are wanted.

    Args:
        tag: the tag ``state`` is about; without one, any tag in that state will do.
        state: what is known of the tag.
        text: words that names or tags must contain, all of them.
        split: train, val or test.
    """

    tag: str | None = None
    state: State = "any"
    text: str = ""
    split: str | None = None


def matching(service: Service, wanted: Filter) -> Rows:
    """Photos that fit; by probability if suggestions are wanted, else in the order of the file."""
    chosen = np.ones(len(service.library), dtype=bool)
    column = None if wanted.tag is None else service.column(wanted.tag)
    if wanted.state != "any":
        columns = slice(None) if column is None else slice(column, column + 1)
        chosen &= _in_state(service, columns, wanted.state).any(axis=1)
    if wanted.split is not None:
        chosen &= np.array([name == wanted.split for name in service.library.split_of])
    for word in wanted.text.lower().split():
        chosen &= _with_word(service, word)
    rows = np.flatnonzero(chosen)
    if column is not None and wanted.state in ("suggested", "unknown"):
        chance = np.nan_to_num(service.queue.probability[rows, column])
        rows = rows[np.argsort(-chance, kind="stable")]
    return rows


def _in_state(service: Service, columns: slice, state: State) -> npt.NDArray[np.bool_]:
    values = service.ledger.values[:, columns]
    known = {"yes": POSITIVE, "no": NEGATIVE, "unknown": UNKNOWN}
    if state in known:
        return np.asarray(values == known[state])
    likely = np.nan_to_num(service.queue.probability[:, columns]) >= LIKELY
    return np.asarray((values == UNKNOWN) & likely)


def _with_word(service: Service, word: str) -> npt.NDArray[np.bool_]:
    named = np.array([word in image.lower() for image in service.library.table.images])
    columns = [
        column for column, name in enumerate(service.ledger.columns.names) if word in name.lower()
    ]
    tagged = (service.ledger.values[:, columns] == POSITIVE).any(axis=1)
    return np.asarray(named | tagged)


def tag_counts(service: Service) -> list[dict[str, Any]]:
    """How many photos have each tag, lack it, or may have it."""
    values, chance = service.ledger.values, np.nan_to_num(service.queue.probability)
    likely = (chance >= LIKELY) & (values == UNKNOWN)
    learned = set(service.model.bundle.classes)
    return [
        {
            "tag": name,
            "yes": int((values[:, column] == POSITIVE).sum()),
            "no": int((values[:, column] == NEGATIVE).sum()),
            "unknown": int((values[:, column] == UNKNOWN).sum()),
            "suggested": int(likely[:, column].sum()),
            "learned": name in learned,
        }
        for column, name in enumerate(service.ledger.columns.names)
    ]


def together(service: Service, count: int) -> dict[str, Any]:
    """How often the most frequent tags occur on the same photo."""
    positive = (service.ledger.values == POSITIVE).astype(np.int64)
    columns = np.argsort(-positive.sum(axis=0), kind="stable")[:count]
    pairs = positive[:, columns].T @ positive[:, columns]
    names = [service.ledger.columns.names[column] for column in columns]
    return {"tags": names, "counts": pairs.tolist()}


def suspects(service: Service, count: int) -> list[dict[str, Any]]:
    """Unreviewed written tags that look wrong, least likely first."""
    ledger = service.ledger
    listed = []
    for row, tag, chance in service.model.suspects():
        column = ledger.columns.find(tag)
        if column is not None and not ledger.decided[row, column]:
            name, now = service.library.table.images[row], ledger.columns.names[column]
            listed.append({"photo": row, "name": name, "tag": now, "probability": round(chance, 4)})
    return listed[:count]
