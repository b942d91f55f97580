"""Precision and recall of a method's pseudo-labels, epoch by epoch.

Of methods that label entry by entry only the entries labeled so far count. Estimates of all
entries, such as those of ``role``, count as positive from a probability of 0.5 on, else as
negative.
"""

from __future__ import annotations

from collections.abc import Sequence

from tagfill.analyze.drawing import Drawing, color, new_figure, whole_numbers
from tagfill.analyze.kinds import CannotDrawError
from tagfill.analyze.subject import Subject

_LINES = {"precision": "-", "recall": "--"}


def draw(subject: Subject) -> Drawing:
    """Precision and recall of the positives and of the negatives among the pseudo-labels."""
    runs = [run for run in subject.some() if any(e.get("pseudo_labels") for e in run.epochs)]
    if not runs:
        raise CannotDrawError("no method here labels unknown entries, or the truth is not known")
    figure, axes = new_figure(1, 2, size=(4.4, 3.3), sharey=True)
    rows: list[Sequence[object]] = []
    for axis, kind in zip(axes[0], ("positives", "negatives"), strict=True):
        for number, run in enumerate(runs):
            logged = [(epoch.get("pseudo_labels") or {}).get(kind, {}) for epoch in run.epochs]
            for name, line in _LINES.items():
                shares = [epoch.get(name) for epoch in logged]
                values = [float("nan") if share is None else 100 * share for share in shares]
                look = {"color": color(number), "label": f"{run.name}, {name}"}
                axis.plot(range(1, len(values) + 1), values, line, **look)
            for epoch, labels in enumerate(logged, 1):
                counted = [labels.get(name) for name in ("count", "precision", "recall")]
                rows.append((run.name, kind, epoch, *counted))
        axis.set(title=f"{kind} among the labels given", xlabel="epoch", ylim=(-3, 103))
        whole_numbers(axis)
    axes[0][0].set_ylabel("%")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    header = ("run", "labels", "epoch", "count", "precision", "recall")
    left_out = [run.name for run in subject.runs if run not in runs]
    notes = (f"without pseudo-labels: {', '.join(left_out)}",) if left_out else ()
    findings = {run.name: run.epochs[-1]["pseudo_labels"] for run in runs}
    return Drawing(figure, header, rows, findings, notes)
