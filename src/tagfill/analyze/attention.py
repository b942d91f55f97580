"""Where the model sees missing tags: Xie et al. 2022 (LAC), Fig. 6.

Every row is an image, the heat map of a tag that was observed, and those of tags recovered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image

from tagfill.analyze.drawing import COLORS, Drawing, new_figure
from tagfill.analyze.kinds import CannotDrawError
from tagfill.analyze.subject import RunView, Subject
from tagfill.explain.draw import overlay, peak
from tagfill.explain.maps import Explanation, explain_images
from tagfill.images import open_image
from tagfill.labels import POSITIVE
from tagfill.recover.choose import Amount
from tagfill.recover.recovery import Recovery, recover

PRECISION, RECOVERED, SIDE = 0.8, 2, 300
"""Expected precision of the recovered tags, number of images shown, pixels of a picture."""
SEARCHED = 1000
"""Training images to search for missing tags, if no earlier recovery is stored."""


def draw(subject: Subject) -> Drawing:
    """Of the first run, the images with most recovered tags, the most probable first."""
    run = subject.some()[0]
    if run.data.train.paths is None:
        raise CannotDrawError(f"{run.name} was trained on features: there are no images")
    recovery = recover(run, images=SEARCHED)
    tags = _recovered(recovery)
    rows = surest(tags)[: subject.images]
    if not rows:
        raise CannotDrawError(f"no image has a tag recovered at {PRECISION:.0%}")
    assert recovery.paths is not None
    pictures = [open_image(recovery.paths[row]) for row in rows]
    for picture in pictures:
        picture.thumbnail((SIDE, SIDE))
    figure, axes = new_figure(len(rows), 2 + RECOVERED, size=(2.1, 2.25))
    table: list[tuple[object, ...]] = []
    explained = explain_images(run.model, pictures)
    for line, row, picture, seen in zip(axes, rows, pictures, explained, strict=True):
        for axis in line:
            axis.axis("off")
        _show(line[0], picture, "", "black")
        observed = int(np.flatnonzero(recovery.table.values[row] == POSITIVE)[0])
        cases = [(observed, 1.0), *tags[row]]
        for axis, (k, chance) in zip(line[1:], cases, strict=False):
            state = "observed" if k == observed else _state(recovery, row, k)
            told = _tag(axis, run, picture, seen, k, chance, state)
            table.append((recovery.table.images[row], *told))
    header = ("image", "tag", "label", "probability", "peak x", "peak y")
    return Drawing(figure, header, table, findings={"images": len(rows)})


def _recovered(recovery: Recovery) -> dict[int, list[tuple[int, float]]]:
    """By image with an observed tag: the most likely recovered classes with their probability."""
    entries = recovery.suggest(Amount(precision=PRECISION))
    labeled = (recovery.table.values == POSITIVE).any(axis=1)
    tags: dict[int, list[tuple[int, float]]] = {}
    for index in np.argsort(-entries.probability, kind="stable"):
        row = int(entries.rows[index])
        if labeled[row] and len(tags.setdefault(row, [])) < RECOVERED:
            tags[row].append((int(entries.columns[index]), float(entries.probability[index])))
    return tags


def surest(tags: Mapping[int, Sequence[tuple[int, float]]]) -> list[int]:
    """Images by number of tags, ties by the probability of their least probable tag."""
    return sorted(tags, key=lambda row: (-len(tags[row]), -min(chance for _, chance in tags[row])))


def _state(recovery: Recovery, row: int, column: int) -> str:
    if recovery.truth is None:
        return "recovered"
    return "recovered, right" if recovery.truth[row, column] == POSITIVE else "recovered, wrong"


def _tag(
    axis: Any,
    run: RunView,
    picture: Image.Image,
    seen: Explanation,
    column: int,
    chance: float,
    state: str,
) -> tuple[object, ...]:
    name, shown = run.data.classes[column], state.removeprefix("recovered, ")
    if state != "observed":
        shown = f"{shown} {chance:.0%}"
    shade = {"observed": "black", "recovered, wrong": COLORS[1]}.get(state, COLORS[0])
    _show(axis, overlay(picture, seen.heat[column]), f"{name}\n{shown}", shade)
    x, y = peak(seen.heat[column])
    return name, state, chance, x, y


def _show(axis: Any, picture: Image.Image, title: str, shade: str) -> None:
    axis.imshow(np.asarray(picture))
    axis.set_title(title, fontsize=9, fontweight="normal", color=shade)
