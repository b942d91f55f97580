"""Predictions of two runs for the same images, side by side: Zhou et al. 2022, Fig. 6.

The images are the first of their split with several tags, not chosen by how they came out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tagfill.analyze.drawing import GRAY, Drawing, color, new_figure
from tagfill.analyze.kinds import CannotDrawError
from tagfill.analyze.subject import RunView, Subject
from tagfill.images import open_image
from tagfill.labels import POSITIVE

TAGS, WRONG = 3, 2
"""Known tags an image needs; absent tags with the highest scores that are shown too."""


def draw(subject: Subject) -> Drawing:
    """Half training images, half test images; with pictures where the files exist."""
    runs = subject.several()[:2]
    runs[0].train_truth()
    splits = [split for split in ("train", "test", "val") if split in runs[0].data.splits][:2]
    cases = []
    for split in splits:
        tags = (runs[0].split(split).eval_labels == POSITIVE).sum(axis=1)
        rows_shown = np.flatnonzero(tags >= TAGS)[: -(-subject.images // len(splits))]
        cases += [(split, row) for row in rows_shown]
    if not cases:
        raise CannotDrawError(f"no image has {TAGS} known tags")
    pictured = runs[0].data.train.paths is not None
    figure, axes = new_figure(
        len(cases),
        2 if pictured else 1,
        size=(3.0 if pictured else 5.2, 2.1),
        **({"width_ratios": (1, 1.6)} if pictured else {}),
    )
    rows: list[tuple[object, ...]] = []
    for line, (split, row) in zip(axes, cases, strict=True):
        rows += _bars(line[-1], runs, split, row)
        if pictured:
            _picture(line[0], runs[0], split, row)
    axes[0][-1].legend(loc="lower center", bbox_to_anchor=(0.5, 1.16), ncols=2)
    axes[-1][-1].set_xlabel("predicted probability")
    notes = ("bold: observed; plain: present but not tagged; gray: absent",)
    return Drawing(
        figure, ("split", "image", "tag", "label", "run", "probability"), rows, notes=notes
    )


def _bars(axis: Any, runs: Sequence[RunView], split: str, row: int) -> list[tuple[object, ...]]:
    whole = runs[0].split(split)
    truth, observed = whole.eval_labels[row], whole.table.values[row]
    chances = [run.raw_probabilities(split)[row] for run in runs]
    present = np.flatnonzero(truth == POSITIVE)
    absent = [k for k in np.argsort(-np.maximum(*chances)) if truth[k] != POSITIVE][:WRONG]
    shown = [*present.tolist(), *absent]
    places = np.arange(len(shown))[::-1]
    for number, (run, chance) in enumerate(zip(runs, chances, strict=True)):
        axis.barh(
            places + 0.2 - 0.4 * number, chance[shown], 0.38, color=color(number), label=run.name
        )
    axis.set_yticks(places, labels=[runs[0].data.classes[k] for k in shown])
    for text, k in zip(axis.get_yticklabels(), shown, strict=True):
        text.set_color("black" if truth[k] == POSITIVE else GRAY)
        observed_positive = split == "train" and observed[k] == POSITIVE
        text.set_fontweight("bold" if observed_positive else "normal")
    axis.set(xlim=(0, 1))
    axis.grid(axis="y", visible=False)
    axis.set_title(f"{split}: {whole.table.images[row]}", fontsize=9, fontweight="normal")
    rows: list[tuple[object, ...]] = []
    for k in shown:
        state = "observed" if observed[k] == POSITIVE else "unobserved"
        entry = (split, whole.table.images[row], runs[0].data.classes[k])
        for run, chance in zip(runs, chances, strict=True):
            label = state if truth[k] == POSITIVE else "absent"
            rows.append((*entry, label, run.name, float(chance[k])))
    return rows


def _picture(axis: Any, run: RunView, split: str, row: int) -> None:
    paths = run.split(split).paths
    assert paths is not None
    picture = open_image(paths[row], 256)
    picture.thumbnail((320, 320))
    axis.imshow(np.asarray(picture))
    axis.axis("off")
