"""Predicted probabilities of images with and without a class: Zhou et al. 2022, Fig. 4b."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagfill.analyze.drawing import COLORS, Drawing, new_figure
from tagfill.analyze.kinds import CannotDrawError
from tagfill.analyze.subject import RunView, Subject
from tagfill.errors import TagfillError
from tagfill.labels import NEGATIVE, POSITIVE, Labels

SHOWN, BINS = 3, 25
KINDS = {"with the tag": (POSITIVE, COLORS[0]), "without": (NEGATIVE, COLORS[1])}


def draw(subject: Subject) -> Drawing:
    """Runs one below the other, classes side by side."""
    runs = subject.some()
    split = runs[0].evaluated_split
    labels = runs[0].split(split).eval_labels
    if not (labels == NEGATIVE).any():
        raise CannotDrawError(f"the {split} images have no known negatives")
    columns = _columns(runs[0], labels, subject.classes)
    figure, axes = new_figure(len(runs), len(columns), size=(3.1, 1.9), sharex=True, sharey="col")
    edges = np.linspace(0, 1, BINS + 1)
    rows: list[tuple[object, ...]] = []
    for line, run in zip(axes, runs, strict=True):
        chances = run.raw_probabilities(split)
        truth = run.split(split).eval_labels
        for axis, column in zip(line, columns, strict=True):
            for kind, (code, shade) in KINDS.items():
                entries = chances[truth[:, column] == code, column]
                counts, _ = np.histogram(entries, edges)
                share = 100 * counts / max(1, len(entries))
                axis.stairs(share, edges, fill=True, color=shade, alpha=0.45, label=kind)
                axis.stairs(share, edges, color=shade, linewidth=1.2)
                name = run.data.classes[column]
                rows += [
                    (run.name, name, kind, float(edges[bin_]), float(edges[bin_ + 1]), float(value))
                    for bin_, value in enumerate(share)
                ]
            axis.set_yscale("symlog", linthresh=1)
            axis.set(yticks=[0, 1, 10, 100], yticklabels=["0", "1", "10", "100"], ylim=(0, 110))
            axis.set_title(f"{run.data.classes[column]} ({run.name})", fontsize=9.5)
        line[0].set_ylabel("images, %")
    for axis in axes[-1]:
        axis.set_xlabel("predicted probability")
    axes[0][-1].legend(loc="upper center")
    header = ("run", "class", "images", "from", "to", "share, %")
    return Drawing(
        figure, header, rows, notes=(f"{split} images; the vertical axis is logarithmic",)
    )


def _columns(run: RunView, labels: Labels, requested: Sequence[str]) -> list[int]:
    classes = run.data.classes
    for name in requested:
        if name not in classes:
            raise TagfillError(f"there is no class {name!r}", remedy=f"{', '.join(classes)}")
    if requested:
        return [classes.index(name) for name in requested]
    frequent = np.argsort(-(labels == POSITIVE).sum(axis=0), kind="stable")
    return [int(column) for column in frequent[:SHOWN]]
