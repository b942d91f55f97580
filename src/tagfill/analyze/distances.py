"""How well a model separates unlabeled positives from true negatives: Zhou et al. 2022, Fig. 4a.

For every class the Wasserstein distance between the predicted probabilities of the two kinds of
training labels: 0 where they are alike, 1 where the model gives 1 to all of one and 0 to the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import wasserstein_distance

from tagfill.analyze.drawing import Drawing, color, new_figure
from tagfill.analyze.kinds import CannotDrawError
from tagfill.analyze.subject import RunView, Subject
from tagfill.arrays import Floats
from tagfill.labels import NEGATIVE, POSITIVE


def draw(subject: Subject) -> Drawing:
    """Points are classes: other runs against the first one, or a single run by class."""
    runs = subject.several() if len(subject.runs) > 1 else subject.some()
    distances = {run.name: class_distances(run) for run in runs}
    (name, base), *others = distances.items()
    figure, axes = new_figure(size=(4.6, 4.2))
    axis, classes = axes[0][0], runs[0].data.classes
    findings = {f"mean, {run_name}": float(np.nanmean(d)) for run_name, d in distances.items()}
    for run_name, distance in others:
        above = (distance > base)[~np.isnan(base)].mean()
        findings[f"share of classes above {name}, {run_name}"] = float(above)
    if others:
        _scatter(axis, name, base, others)
    else:
        order = np.argsort(base)
        axis.scatter(base[order], range(len(order)), s=26, color=color(0))
        axis.set_yticks(range(len(order)), labels=[classes[k] for k in order])
        axis.set(xlim=(0, None), xlabel="Wasserstein distance")
    rows = [
        (run_name, k, float(d))
        for run_name, ds in distances.items()
        for k, d in zip(classes, ds, strict=True)
    ]
    notes = tuple(
        f"{run.name}: {missing} classes without unobserved positives are left out"
        for run in runs
        if (missing := int(np.isnan(distances[run.name]).sum()))
    )
    return Drawing(figure, ("run", "class", "distance"), rows, findings, notes)


def class_distances(run: RunView) -> Floats:
    """[K]; NaN for classes without positives or negatives among the unobserved labels."""
    truth, unknown, chances = run.train_truth(), run.unobserved, run.raw_probabilities("train")
    distances = np.full(truth.shape[1], np.nan)
    for k in range(truth.shape[1]):
        hidden = chances[unknown[:, k] & (truth[:, k] == POSITIVE), k]
        absent = chances[unknown[:, k] & (truth[:, k] == NEGATIVE), k]
        if len(hidden) and len(absent):
            distances[k] = wasserstein_distance(hidden, absent)
    if np.isnan(distances).all():
        raise CannotDrawError(f"no positive of {run.name} is unobserved")
    return distances


def _scatter(axis: Any, name: str, base: Floats, others: Sequence[tuple[str, Floats]]) -> None:
    top = 1.05 * max(np.nanmax(base), *(np.nanmax(distance) for _, distance in others))
    axis.plot((0, top), (0, top), color="0.4", linewidth=1, linestyle=":")
    for number, (other, distance) in enumerate(others):
        axis.scatter(
            base, distance, s=26, color=color(number), label=other, alpha=0.85, linewidths=0
        )
    axis.set(
        xlim=(0, top),
        ylim=(0, top),
        xlabel=f"Wasserstein distance, {name}",
        ylabel="Wasserstein distance, other runs"
        if len(others) > 1
        else f"Wasserstein distance, {others[0][0]}",
        title="one point per class; above the line is better",
    )
    axis.legend(loc="lower right")
