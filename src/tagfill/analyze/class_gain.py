"""Which classes gain by a method, and how much: Zhou et al. 2022, Fig. 4c."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tagfill.analyze.drawing import COLORS, Drawing, new_figure
from tagfill.analyze.kinds import CannotDrawError
from tagfill.analyze.subject import RunView, Subject
from tagfill.arrays import Floats

NAMED = 60
"""Most classes to name along the axis."""


def draw(subject: Subject) -> Drawing:
    """Differences in average precision to the first run, one panel for every other run."""
    base, *others = subject.several()
    split = base.evaluated_split
    before = _precisions(base, split)
    classes = base.data.classes
    height = 1.2 + 0.19 * min(len(classes), NAMED)
    figure, axes = new_figure(1, len(others), size=(4.6, height))
    rows: list[tuple[object, ...]] = []
    findings = {}
    for axis, run in zip(axes[0], others, strict=True):
        gain = _precisions(run, split) - before
        order = np.argsort(gain)
        sides = [COLORS[0] if gain[k] >= 0 else COLORS[1] for k in order]
        class_bars(axis, [classes[k] for k in order], gain[order], sides)
        axis.axvline(0, color="0.3", linewidth=0.8)
        axis.set(xlabel=f"gain in average precision over {base.name}, points ({split})")
        axis.set_title(f"{run.name}: {np.nanmean(gain):+.2f} on average")
        rows += [(run.name, classes[k], before[k], before[k] + gain[k], gain[k]) for k in order]
        findings[run.name] = {
            "mean_gain": float(np.nanmean(gain)),
            "share_of_classes_better": float((gain > 0).mean()),
        }
    header = ("run", "class", f"{base.name}, %", "run, %", "gain, points")
    return Drawing(figure, header, rows, findings)


def _precisions(run: RunView, split: str) -> Floats:
    """[K] in percent."""
    per_class = (run.metrics.get(split) or {}).get("per_class")
    if not per_class:
        raise CannotDrawError(f"the {split} metrics of {run.name} have no average precisions")
    values = [measured["average_precision"] for measured in per_class]
    return 100 * np.array([np.nan if value is None else value for value in values])


def class_bars(
    axis: Any, classes: Sequence[str], lengths: Floats, shades: str | Sequence[str]
) -> None:
    """A bar for every class, from below; at most ``NAMED`` are named."""
    axis.barh(range(len(classes)), lengths, color=shades, height=0.72)
    named = len(classes) <= NAMED
    axis.set_yticks(range(len(classes)) if named else [], labels=classes if named else [])
    axis.grid(axis="y", visible=False)
    axis.set_ylim(-0.7, len(classes) - 0.3)
